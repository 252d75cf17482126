/**
 * A result on the page of a service: it offers to save what does not hold.
 *
 * @module
 */

import type { Verified } from './ask-proof.ts';
import { evidenceOf } from './evidence.ts';
import { Result } from './result.tsx';
import type { AnchorsSource } from './steps.ts';

interface SavedResultProps {
  readonly verified: Verified;
  readonly source: AnchorsSource;
  readonly takesFocus?: boolean | undefined;
}

export function SavedResult({ verified, source, takesFocus }: SavedResultProps) {
  const { proof, given, at } = verified;
  const save = () => saveJson(nameOf(at), evidenceOf(source, given));
  return (
    <Result of={proof} at={at} takesFocus={takesFocus}>
      <div class="row">
        <button type="button" onClick={save}>
          Save the evidence
        </button>
      </div>
      <p class="small">
        The file has what the service answered. Send it to the operator and to a witness: anyone can
        check it with verify.html.
      </p>
    </Result>
  );
}

function nameOf(at: Date): string {
  return `writ-evidence-${at.toISOString().replace(/\W/g, '')}.json`;
}

/** Saves a value as a file of this computer. Nothing is sent. */
function saveJson(name: string, value: unknown): void {
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
