/**
 * The verifier: a page in one file that verifies a log without any service.
 *
 * An auditor keeps the file and opens it from disk. It sends nothing and keeps nothing.
 *
 * @module
 */

import { Shown } from './parts/elements.tsx';
import './no-eval.ts';
import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import './style/tokens.css';
import './style/pages.css';
import { now } from './api.ts';
import { announce, announced } from './parts/announce.ts';
import { Notice } from './parts/panels.tsx';
import { Result } from './trust/result.tsx';
import { FileForm } from './verifier/form.tsx';
import { FileReport } from './verifier/report.tsx';
import { type FileResult, type Known, verifyFile } from './verifier/verify-file.ts';

type State =
  | { readonly is: 'idle' }
  | { readonly is: 'busy'; readonly read: number; readonly size: number }
  | { readonly is: 'stopped' }
  | { readonly is: 'refused'; readonly why: string }
  | { readonly is: 'done'; readonly result: FileResult };

function Verifier() {
  const [state, setState] = useState<State>({ is: 'idle' });
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = Date.now();
    }, 1_000);
    return () => clearInterval(timer);
  }, []);
  const verify = async (file: File, known: Known) => {
    const controller = new AbortController();
    running.current = controller;
    const { size } = file;
    setState({ is: 'busy', read: 0, size });
    const onRead = (read: number) => setState({ is: 'busy', read, size });
    try {
      const result = await verifyFile(file, known, { signal: controller.signal, onRead });
      setState({ is: 'done', result });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      setState(controller.signal.aborted ? { is: 'stopped' } : { is: 'refused', why });
      announce(controller.signal.aborted ? 'Stopped' : why);
    }
  };
  return (
    <>
      <main id="main" class="alone">
        <p class="brand">
          <svg class="mark" aria-hidden="true">
            <use href="#i-mark" />
          </svg>
          <b>Writ</b>
        </p>
        <h1>Verify a log</h1>
        <p class="lead">
          This page is one file. It recomputes every hash and every signature here, connects to
          nothing, and keeps nothing. Take it from the package and not from the service that you
          check.
        </p>
        {globalThis.crypto.subtle ? null : (
          <Notice state="bad" isAlert>
            This browser verifies no signatures on this page. Open the file from disk, or over
            HTTPS.
          </Notice>
        )}
        <FileForm isBusy={state.is === 'busy'} onVerify={verify} />
        <Outcome of={state} onStop={() => running.current?.abort()} />
      </main>
      <p class="vh" aria-live="polite">
        {announced}
      </p>
    </>
  );
}

interface OutcomeProps {
  readonly of: State;
  onStop(): void;
}

function Outcome({ of, onStop }: OutcomeProps) {
  if (of.is === 'idle') return null;
  if (of.is === 'stopped') return <Notice state="warn">Stopped. Nothing was verified.</Notice>;
  if (of.is === 'refused') {
    return (
      <Notice state="warn" isAlert>
        <Shown text={of.why} />. Nothing was verified.
      </Notice>
    );
  }
  if (of.is === 'done') {
    const { result } = of;
    return result.kind === 'export' ? (
      <FileReport of={result.report} at={result.at} />
    ) : (
      <Result of={result.proof} at={result.at} />
    );
  }
  const share = Math.floor((100 * of.read) / Math.max(of.size, 1));
  return (
    <section class="panel" aria-label="Progress">
      <p>
        <label for="v-progress">Verifying</label>{' '}
        <progress id="v-progress" max={100} value={share} /> {share} % of{' '}
        {of.size.toLocaleString('en')} bytes
      </p>
      <button type="button" onClick={onStop}>
        Stop
      </button>
    </section>
  );
}

render(<Verifier />, document.getElementById('app') as HTMLElement);
