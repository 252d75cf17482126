/**
 * What an auditor gives: the file, and what the auditor knows from another source.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Fold } from '../parts/panels.tsx';
import type { Known } from './verify-file.ts';

interface FileFormProps {
  readonly isBusy: boolean;
  onVerify(file: File, known: Known): void;
}

export function FileForm({ isBusy, onVerify }: FileFormProps) {
  const [file, setFile] = useState<File | undefined>(undefined);
  useDropped(setFile);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    if (file && !isBusy) onVerify(file, knownOf(form));
  };
  return (
    <form onSubmit={submit}>
      <section class="panel" aria-labelledby="h-file">
        <h2 id="h-file">The file</h2>
        <p class="field">
          <label for="v-file">Exported log, trail or saved evidence</label>
          <input
            id="v-file"
            type="file"
            onChange={({ currentTarget }) => setFile(currentTarget.files?.[0])}
          />
          <small>
            {file
              ? `Chosen: ${file.name}, ${file.size.toLocaleString('en')} bytes`
              : 'Choose it, or drop it anywhere on this page. writ audit export writes a log or a trail.'}
          </small>
        </p>
      </section>
      <section class="panel" aria-labelledby="h-known">
        <h2 id="h-known">What you know from another source</h2>
        <p class="small muted">
          The keys inside a file prove only that the file agrees with itself. Give a key or a
          thumbprint that you did not take from the file.
        </p>
        <div class="fields">
          <Area name="thumbprints" label="Thumbprints of keys (kid)" />
          <Area name="jwks" label="Key set (jwks), as JSON" accepts />
          <Area name="witnessKeys" label="Keys of witnesses (name+id+key)" />
          <p class="field">
            <label for="v-serviceId">Name of the service (service_id)</label>
            <input id="v-serviceId" name="serviceId" spellcheck={false} autocomplete="off" />
          </p>
        </div>
        <Fold title="A receipt to look for, erased contents, trails">
          <div class="fields">
            <Area name="receipt" label="Receipt, or the answer of the call, as JSON" accepts />
            <Area
              name="after"
              label="Checkpoint fetched after an unsigned receipt, as JSON"
              accepts
            />
          </div>
          <Tick name="allowErased">Accept entries whose contents retention erased</Tick>
          <Tick name="isTrail">A trail is enough: it cannot show that nothing is missing</Tick>
        </Fold>
      </section>
      <button type="submit" class="act" aria-disabled={isBusy || !file}>
        Verify this file
      </button>
    </form>
  );
}

function knownOf(form: FormData): Known {
  const text = (name: keyof Known) => String(form.get(name) ?? '');
  return {
    jwks: text('jwks'),
    thumbprints: text('thumbprints'),
    witnessKeys: text('witnessKeys'),
    serviceId: text('serviceId'),
    receipt: text('receipt'),
    after: text('after'),
    allowErased: form.has('allowErased'),
    isTrail: form.has('isTrail'),
  };
}

/** A file that is dropped anywhere on the page; the browser would open it instead. */
function useDropped(take: (file: File) => void): void {
  useEffect(() => {
    const over = (event: DragEvent) => event.preventDefault();
    const drop = (event: DragEvent) => {
      event.preventDefault();
      const dropped = event.dataTransfer?.files[0];
      if (dropped) take(dropped);
    };
    addEventListener('dragover', over);
    addEventListener('drop', drop);
    return () => {
      removeEventListener('dragover', over);
      removeEventListener('drop', drop);
    };
  }, [take]);
}

interface AreaProps {
  readonly name: keyof Known;
  readonly label: string;
  /** Whether a file can fill it. */
  readonly accepts?: boolean;
}

function Area({ name, label, accepts = false }: AreaProps) {
  const [text, setText] = useState('');
  const fill = async (file: File | undefined) => {
    if (file) setText(await file.slice(0, AREA_MAX).text());
  };
  return (
    <div class="field">
      <label for={`v-${name}`}>{label}</label>
      <textarea
        id={`v-${name}`}
        name={name}
        rows={3}
        spellcheck={false}
        autocomplete="off"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      {accepts ? (
        <input
          type="file"
          aria-label={`${label}: from a file`}
          onChange={({ currentTarget }) => void fill(currentTarget.files?.[0])}
        />
      ) : null}
    </div>
  );
}

/** Characters that a field takes from a file: no key set or checkpoint is longer. */
const AREA_MAX = 1_024 * 1_024;

interface TickProps {
  readonly name: keyof Known;
  readonly children: ComponentChildren;
}

function Tick({ name, children }: TickProps) {
  return (
    <label class="opt">
      <input type="checkbox" name={name} />
      <span>{children}</span>
    </label>
  );
}
