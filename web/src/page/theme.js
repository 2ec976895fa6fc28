// Light or dark: as the system has it, until the reader chooses.

const KEY = "scumble-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export function rememberedTheme() {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    return null;
  }
}

export const current = (state) => state.theme ?? (system.matches ? "dark" : "light");

export function toggleTheme(state) {
  const theme = current(state) === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // a page opened as a file may keep nothing
  }
  state.set({ theme });
}

// The style sheet reads the theme off the document.
export function wearTheme(state) {
  const wear = () => (document.documentElement.dataset.theme = current(state));
  system.addEventListener("change", () => state.set({ theme: state.theme }));
  state.on(["theme"], wear);
  wear();
}
