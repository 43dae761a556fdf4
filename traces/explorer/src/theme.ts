// Dark or light: as the system has it, until somebody chooses.

export type Theme = "dark" | "light";

export function themeNow(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  if (chosen === "dark" || chosen === "light") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function toggleTheme(): void {
  document.documentElement.dataset["theme"] = themeNow() === "dark" ? "light" : "dark";
}
