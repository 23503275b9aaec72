// Colours of canvases, from the variables of page.css. The palette is Okabe and Ito's, adapted to each background, so that
// colour-blind eyes tell the lines apart; the first four also differ in lightness.

const PALETTES = {
  dark: ['#56b4e9', '#e69f00', '#2fc79a', '#f0e442', '#d98cc0', '#ff7f4d', '#9db4ff', '#c9ccd1'],
  light: ['#0072b2', '#c77700', '#00805f', '#a38a00', '#a8457f', '#c04a00', '#4a55c2', '#5b6068'],
};

export class Theme {
  constructor() {
    this.media = matchMedia('(prefers-color-scheme: light)');
    this.media.addEventListener('change', () => this.apply(this.choice));
    this.listeners = [];
    this.apply('auto');
  }

  get name() {
    return this.choice === 'auto' ? (this.media.matches ? 'light' : 'dark') : this.choice;
  }

  apply(choice) {
    this.choice = choice;
    document.documentElement.dataset.theme = this.name;
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    this.text = read('--text');
    this.dim = read('--dim');
    this.grid = read('--grid');
    this.panel = read('--panel');
    this.accent = read('--accent');
    this.warning = read('--warning');
    this.error = read('--error');
    this.good = read('--good');
    this.sky = read('--sky');
    this.ground = read('--ground');
    this.palette = PALETTES[this.name];
    for (const listener of this.listeners) listener();
  }

  color(index) {
    return this.palette[index % this.palette.length];
  }
}
