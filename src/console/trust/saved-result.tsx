/**
 * A result on the page of a service: it offers to save what does not hold.
 *
 * @module
 */

import type { AnchorsSource } from './anchors.ts';
import type { Verified } from './ask-proof.ts';
import { evidenceOf } from './evidence.ts';
import { Result } from './result.tsx';
import { saveJson } from './save.ts';

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
