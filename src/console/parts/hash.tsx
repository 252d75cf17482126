/**
 * A hash: all its digits in groups of eight. The copied text has no spaces.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { announce } from './announce.ts';

interface HashProps {
  /** With or without "sha256:". */
  readonly hex: string;
  /** What is copied, for screen readers: "the digest". */
  readonly what?: string;
}

export function Hash({ hex, what = 'the hash' }: HashProps) {
  const digits = hex.replace(/^sha256:/, '');
  return (
    <>
      <code class="hash">
        {(digits.match(/.{1,8}/g) ?? []).map((group, at) => (
          <span key={at}>{group}</span>
        ))}
      </code>{' '}
      <Copy text={digits} what={what} />
    </>
  );
}

/** Absent where the browser lets no page write to the clipboard. */
export function Copy({ text, what }: { readonly text: string; readonly what: string }) {
  const words = useSignal('Copy');
  if (!navigator.clipboard) return null;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      words.value = 'Copied';
      announce(`Copied ${what}`);
    } catch {
      words.value = 'Not copied';
      announce(`The browser did not copy ${what}`);
    }
  };
  return (
    <button type="button" class="text" aria-label={`${words.value} ${what}`} onClick={copy}>
      {words}
    </button>
  );
}
