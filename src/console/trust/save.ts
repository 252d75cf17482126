/**
 * Saves a value as a file of this computer. Nothing is sent.
 *
 * @module
 */

export function saveJson(name: string, value: unknown): void {
  const text = `${JSON.stringify(value, undefined, 2)}\n`;
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken the contents when the click returns; the address would keep them in memory.
  setTimeout(() => URL.revokeObjectURL(url), SAVED_MS);
}

/** Milliseconds: some browsers read the contents shortly after the click. */
const SAVED_MS = 10_000;
