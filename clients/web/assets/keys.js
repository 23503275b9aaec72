// Keys of the page. They do nothing while a text is being typed.

export class Keys {
  constructor(page) {
    this.page = page;
    document.addEventListener('keydown', (event) => this.#take(event));
  }

  #take(event) {
    const typing = event.target.closest?.('input, select, textarea, dialog');
    if (event.key === 'Escape' && typing && event.target.type === 'search') {
      event.target.value = '';
      event.target.dispatchEvent(new Event('input'));
      event.target.blur();
    }
    if (typing || event.ctrlKey || event.altKey || event.metaKey) return;
    const { page } = this, { view } = page;
    const actions = {
      ' ': () => view.toggle(), '+': () => view.stepSpan(-1), '=': () => view.stepSpan(-1), '-': () => view.stepSpan(1),
      ArrowLeft: () => view.pan(-0.2), ArrowRight: () => view.pan(0.2), a: () => page.addChart(), d: () => page.toggleDegrees(),
      s: () => page.toggleNumbers(), t: () => page.toggleTheme(), p: () => page.pauseWorld(), n: () => page.stepWorld(),
      '/': () => document.getElementById('search').focus(), '?': () => document.getElementById('keys').showModal(),
    };
    const action = actions[event.key];
    if (!action || (event.key === ' ' && event.target.closest('button, summary'))) return;
    event.preventDefault();
    action();
  }
}
