/**
 * Trust: the log of the service, verified in this browser.
 *
 * The page takes entries, paths, roots and keys from the service and recomputes every hash and every signature. It
 * remembers nothing between two loads, so it can pin no key: it shows the key, and takes a thumbprint that the reader
 * noted elsewhere.
 *
 * @module
 */

import { useState } from 'preact/hooks';
import { ask, base } from '../api.ts';
import { Shown } from '../parts/elements.tsx';
import { Failed, Loading, useLoaded } from '../parts/loaded.tsx';
import { CheckpointList } from './checkpoints.tsx';
import { EntryForm } from './entry-form.tsx';
import { KeySection } from './keys.tsx';
import { pageAnchors, type Trusting } from './steps.ts';
import { WitnessSection } from './witnesses.tsx';

export function TrustPage() {
  const [noted, setNoted] = useState<readonly string[]>([]);
  const loaded = useLoaded(() => load(noted), [noted]);
  return (
    <>
      <h1>Check the log yourself</h1>
      <p>
        This browser recomputes every hash and every signature of what the service answers. The keys
        come from the service too: compare their thumbprints below.{' '}
        <a href={`${base}/console/verify.html`} download="verify.html">
          Save verify.html
        </a>{' '}
        to check an exported log or saved evidence without this server.
      </p>
      {loaded.state === 'loading' ? <Loading what="the keys of the log" /> : null}
      {loaded.state === 'failed' ? (
        <Failed what="The keys of the log" why={loaded.why} again={loaded.again} />
      ) : null}
      {loaded.state === 'ready' && 'fault' in loaded.value ? (
        <div class="notice bad" role="alert">
          <h2>✕ The published keys cannot be used. Nothing was verified.</h2>
          <p>
            <Shown text={loaded.value.fault} />
          </p>
        </div>
      ) : null}
      {loaded.state === 'ready' && 'anchors' in loaded.value ? (
        <>
          <EntryForm trusting={loaded.value} />
          <CheckpointList key={noted.join()} trusting={loaded.value} />
          <WitnessSection trusting={loaded.value} />
          <KeySection trusting={loaded.value} onNoted={setNoted} />
        </>
      ) : null}
    </>
  );
}

async function load(noted: readonly string[]): Promise<Trusting | { fault: string }> {
  const [jwks, { service_id, witness_keys }] = await Promise.all([
    ask('jwks', {}),
    ask('trust', {}),
  ]);
  const source = { service_id, jwks, witness_keys, noted };
  const anchors = await pageAnchors(source);
  return 'fault' in anchors ? anchors : { source, anchors };
}
