// The page begins here: with the document in it, or, served, with what the server gives.

import { render } from "preact";
import { setAddress } from "./address";
import { readDocument, type Document, type Start } from "./document";
import { keepFocus } from "./focus";
import { Server, type Request } from "./live";
import { readRequest, requestText } from "./opened";
import { readPlace } from "./place";
import { HazardPage } from "./views/hazard";
import { HistoryPage } from "./views/history";
import { StartPage, type Opener } from "./views/start";
import { TracePage } from "./views/trace";
import { textOf, Walker } from "./walker";

const root = document.getElementById("page") as HTMLElement;
const carried = document.getElementById("document")?.textContent?.trim() || "null";
const token = new URLSearchParams(location.search).get("token");

function show(shown: Document, server: Server | null, start: Start | null, opened: string): void {
  document.title = `${shown.title} · rocketproof`;
  const home = server && start ? () => showStart(server, start, "") : undefined;
  const open = server && start ? (request: Request) => void openHere(server, start, request) : undefined;
  if (shown.kind === "history") return render(<HistoryPage key={opened} history={shown} opened={opened} home={home} />, root);
  if (shown.kind === "hazard") {
    if (opened) setAddress(`#${new URLSearchParams({ open: opened })}`);
    return render(<HazardPage key={opened} hazard={shown} home={home} open={open} />, root);
  }
  const walker = new Walker(shown, server, opened, start?.catalogue);
  render(<TracePage key={shown.live?.session ?? opened} walker={walker} home={home} open={open} />, root);
  walker.arrive(location.hash);
}

function opener(server: Server, start: Start): Opener {
  return async (request, progress, signal) => {
    const found = await server.open(request, progress, signal);
    setAddress("#");
    if (location.hash) history.replaceState(null, "", "#"); // the new page begins at its own first step
    show(found, server, start, requestText(request));
  };
}

/** Open something from another page, with its progress in the place of the page. */
async function openHere(server: Server, start: Start, request: Request): Promise<void> {
  waiting("opening");
  try {
    await opener(server, start)(request, waiting);
  } catch (error) {
    showStart(server, start, textOf(error));
  }
}

function showStart(server: Server, start: Start, error: string): void {
  document.title = "rocketproof";
  setAddress("#");
  render(<StartPage catalogue={start.catalogue} version={start.version} error={error} open={opener(server, start)} />, root);
}

function waiting(text: string): void {
  render(
    <p class="failure" role="status">
      <progress aria-label="working" /> {text}
    </p>,
    root,
  );
}

function fail(text: string): void {
  render(
    <p class="failure" role="alert">
      {text}
    </p>,
    root,
  );
}

async function served(server: Server): Promise<void> {
  waiting("reading the catalogue");
  const start = await server.start();
  const wanted = readRequest(readPlace(location.hash).opened);
  if (!wanted) return start.document ? show(start.document, server, start, "") : showStart(server, start, "");
  try {
    show(await server.open(wanted, waiting), server, start, readPlace(location.hash).opened);
  } catch (error) {
    showStart(server, start, textOf(error));
  }
}

keepFocus(root);
try {
  if (carried !== "null") show(readDocument(carried), null, null, "");
  else if (token && location.protocol.startsWith("http")) void served(new Server(token)).catch((error: unknown) => fail(textOf(error)));
  else fail("This page carries no trace. `rocketproof explore` prints the address of one that does.");
} catch (error) {
  fail(textOf(error));
}
