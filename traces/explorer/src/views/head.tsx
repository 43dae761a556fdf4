// The head that all pages share: where the page belongs, its title, what it is about, dark or light, and the help.

import type { ComponentChildren } from "preact";
import { toggleTheme } from "../theme";

interface Props {
  title: string;
  sentence: string;
  about?: string;
  word?: { text: string; tone: string } | undefined; // a verdict after the title
  home?: (() => void) | undefined; // to the catalogue of the served page
  run?: boolean | undefined; // the page belongs to the page of a run, in the folder above
  help?: (() => void) | undefined;
  children?: ComponentChildren;
}

export function Head({ title, sentence, about = "", word, home, run, help, children }: Props) {
  return (
    <header class="bar">
      <div class="title">
        {home && (
          <button type="button" class="quiet home" onClick={home} title="choose a hazard, a property or a scope (h)">
            ☰ catalogue
          </button>
        )}
        {run && (
          <a class="home" href="../index.html" title="the page of the run (h)">
            ☰ run
          </a>
        )}
        <h1 tabIndex={-1}>{title}</h1>
        {word && <span class={`verdict-word ${word.tone}`}>{word.text}</span>}
        <span class="buttons">
          <button type="button" class="quiet" onClick={toggleTheme} title="dark or light (t)" aria-label="dark or light">
            ◐
          </button>
          {help && (
            <button type="button" class="quiet" onClick={help} title="keys and signs (?)" aria-label="help">
              ?
            </button>
          )}
        </span>
      </div>
      <p class="subtitle">
        <span class="sentence">{sentence}</span> {about && <span class="about">{about}</span>}
      </p>
      {children}
    </header>
  );
}
