/**
 * The published keys, and the thumbprint that the reader noted elsewhere.
 *
 * @module
 */

import { useState } from 'preact/hooks';
import { signedCheckpointPayload } from '../../domain/log/checkpoint.ts';
import { readDetached, TYPS } from '../../domain/wire/jws.ts';
import { ask } from '../api.ts';
import { Copy, Heads, Pill } from '../parts/elements.tsx';
import { useLoaded } from '../parts/loaded.tsx';
import { type Trusting, wordsIn } from './steps.ts';

interface KeySectionProps {
  readonly trusting: Trusting;
  onNoted(noted: readonly string[]): void;
}

export function KeySection({ trusting, onNoted }: KeySectionProps) {
  const { anchors, source } = trusting;
  const [text, setText] = useState(Array.isArray(source.noted) ? source.noted.join('\n') : '');
  const newest = useLoaded(() => newestSigner(source.service_id), [source.service_id]);
  const signer = newest.state === 'ready' ? newest.value : undefined;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onNoted(wordsIn(text));
  };
  return (
    <section aria-labelledby="h-keys">
      <h2 id="h-keys">Keys</h2>
      <p>
        The service published these keys, and this page keeps none between two loads. Compare the
        thumbprint of the log key with one that you have from another source: from a colleague, from
        an earlier export, or from the person who runs the service. <code>writ verify --pin</code>{' '}
        takes the same thumbprint.
      </p>
      <table>
        <Heads of={['Thumbprint (kid)', 'Signs', 'Compared']} />
        <tbody>
          {anchors.keys.keys.map(({ kid, isPinned, follows }) => (
            <tr key={kid}>
              <td>
                <code>{kid}</code> <Copy text={kid} what="the thumbprint" />
              </td>
              <td>
                {kid === signer ? 'the newest checkpoint' : 'other checkpoints, tokens or grants'}
              </td>
              <td>
                {isPinned ? (
                  <Pill state="good">
                    {follows === undefined ? 'You noted it' : 'Follows yours'}
                  </Pill>
                ) : (
                  <Pill state="off">Not compared</Pill>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <form class="row" onSubmit={submit}>
        <p class="field">
          <label for="t-noted">Thumbprint that you noted</label>
          <input
            id="t-noted"
            size={46}
            spellcheck={false}
            autocomplete="off"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </p>
        <button type="submit">Verify with this key only</button>
      </form>
    </section>
  );
}

/** The key that the newest checkpoint names; its signature is verified with each result. */
async function newestSigner(serviceId: string): Promise<string | undefined> {
  const { checkpoints } = await ask('checkpoints.list', { limit: 1 });
  const [newest] = checkpoints;
  if (!newest) return undefined;
  return readDetached(newest.signature, TYPS.checkpoint, signedCheckpointPayload(serviceId, newest))
    ?.kid;
}
