// Hooks: a store's value, keys, printing, dark or light, the size of a box.

import { useEffect, useLayoutEffect, useReducer, useState, type MutableRef } from "preact/hooks";
import type { Store } from "../store";
import { themeNow, type Theme } from "../theme";

export function useStore<T>(store: Store<T>): T {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useLayoutEffect(() => store.subscribe(() => redraw(undefined)), [store]);
  return store.value;
}

/** Listen for the keys of a page from the moment it is shown: an effect after drawing would miss the first key. */
export function useKeys(listen: (event: KeyboardEvent) => void): void {
  useLayoutEffect(() => {
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  });
}

/** Whether the page is being printed: then nothing is folded away by scrolling. */
export function usePrinting(): boolean {
  const [printing, set] = useState(() => matchMedia("print").matches);
  useEffect(() => {
    const media = matchMedia("print");
    const listen = (): void => set(media.matches);
    media.addEventListener("change", listen);
    return () => media.removeEventListener("change", listen);
  }, []);
  return printing;
}

/** Dark or light, for what is drawn and does not follow the style sheet by itself. */
export function useTheme(): Theme {
  const [theme, set] = useState(themeNow);
  useEffect(() => {
    const media = matchMedia("(prefers-color-scheme: dark)");
    const listen = (): void => set(themeNow());
    const observer = new MutationObserver(listen);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    media.addEventListener("change", listen);
    return () => {
      observer.disconnect();
      media.removeEventListener("change", listen);
    };
  }, []);
  return theme;
}

export function useSize(ref: MutableRef<HTMLElement | null>): { width: number; height: number } {
  const [size, set] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return;
    const measure = (): void => set({ width: box.clientWidth, height: box.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  return size;
}
