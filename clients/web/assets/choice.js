// A choice among names: a list, or where the names are many a text field, which offers the names that contain its text.

const LISTED_MAX = 200;
const OFFERED = 40;

let fields = 0;

export class Choice {
  // It replaces `place`. `onchange` is called after a user has chosen.
  constructor(place, label, onchange) {
    this.element = place;
    this.label = label;
    this.onchange = onchange;
    this.names = new Map(); // value -> text
    this.chosen = '';
  }

  // Pairs of text and value. The value is kept if it is still there; otherwise `first` is chosen.
  set(pairs, first = pairs[0]?.[1] ?? '') {
    this.names = new Map(pairs.map(([text, value]) => [value, text]));
    this.values = new Map(pairs);
    const element = pairs.length > LISTED_MAX ? this.#field() : document.createElement('select');
    element.setAttribute('aria-label', this.label);
    if (element.tagName === 'SELECT') {
      element.replaceChildren(...pairs.map(([text, value]) => new Option(text, value)));
      element.onchange = () => this.#choose(element.value);
    }
    this.element.replaceWith(element);
    this.element = element;
    this.value = this.names.has(this.chosen) ? this.chosen : first;
  }

  get value() { return this.chosen; }

  set value(value) {
    this.chosen = value;
    this.element.value = this.element.tagName === 'SELECT' ? value : this.names.get(value) ?? '';
  }

  #choose(value) {
    this.value = value;
    this.onchange();
  }

  #field() {
    const field = document.createElement('input');
    this.offers?.remove();
    this.offers = document.createElement('datalist');
    this.offers.id = `offers${++fields}`;
    document.body.append(this.offers);
    field.setAttribute('list', this.offers.id);
    field.type = 'search';
    field.spellcheck = false;
    field.title = `one of ${this.names.size}; type a part of its name`;
    field.onfocus = () => field.select();
    field.oninput = () => this.#offer(field.value);
    field.onchange = () => {
      const value = this.values.get(field.value) ?? this.values.get(this.#offer(field.value)[0]);
      if (value === undefined) this.value = this.chosen;
      else this.#choose(value);
    };
    return field;
  }

  // The first names that contain a text.
  #offer(text) {
    const found = [];
    for (const name of this.values.keys()) {
      if (name.includes(text.trim())) found.push(name);
      if (found.length === OFFERED) break;
    }
    this.offers.replaceChildren(...found.map((name) => new Option(name)));
    return found;
  }
}
