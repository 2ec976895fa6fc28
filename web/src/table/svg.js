// Pictures of a few shapes. Colours are the style sheet's, so they follow the theme.

export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  put(element, attributes);
  element.append(...children);
  return element;
}

export function put(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}
