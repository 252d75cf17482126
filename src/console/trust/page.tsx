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
import { Icon } from '../parts/icon.tsx';
import { Failed, Loading, useLoaded } from '../parts/loaded.tsx';
import { Notice } from '../parts/panels.tsx';
import { CheckpointList } from './checkpoints.tsx';
import { EntryForm } from './entry-form.tsx';
import { KeySection } from './keys.tsx';
import { pageAnchors, type Trusting } from './steps.ts';
import { Verdict } from './verdict.tsx';
import { signings, WitnessSection } from './witnesses.tsx';

export function TrustPage() {
  const [noted, setNoted] = useState<readonly string[]>([]);
  const loaded = useLoaded(() => load(noted), [noted]);
  return (
    <>
      <div class="head mid">
        <h1>Trust</h1>{' '}
        <a class="button little" href={`${base}/console/verify.html`} download="verify.html">
          Save the verifier <Icon name="external" />
        </a>
      </div>
      {loaded.state === 'loading' ? <Loading what="the keys of the log" /> : null}
      {loaded.state === 'failed' ? (
        <Failed what="The keys of the log" why={loaded.why} again={loaded.again} />
      ) : null}
      {loaded.state === 'ready' && 'fault' in loaded.value ? (
        <Notice state="bad" isAlert>
          <h2>The published keys cannot be used. Nothing was verified.</h2>
          <p>
            <Shown text={loaded.value.fault} />
          </p>
        </Notice>
      ) : null}
      {loaded.state === 'ready' && 'anchors' in loaded.value ? (
        <Sections key={noted.join()} trusting={loaded.value} onNoted={setNoted} />
      ) : null}
    </>
  );
}

interface SectionsProps {
  readonly trusting: Trusting;
  onNoted(noted: readonly string[]): void;
}

function Sections({ trusting, onNoted }: SectionsProps) {
  const witnesses = useLoaded(() => signings(trusting), [trusting]);
  return (
    <>
      <Verdict trusting={trusting} witnesses={witnesses} />
      <EntryForm trusting={trusting} />
      <CheckpointList trusting={trusting} />
      <WitnessSection of={witnesses} />
      <KeySection trusting={trusting} onNoted={onNoted} />
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
