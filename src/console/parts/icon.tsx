/**
 * An icon stands beside words and has their colour. The build puts the drawings of `icons.svg` into each page.
 *
 * @module
 */

export type IconName =
  | 'seal'
  | 'read'
  | 'write'
  | 'reversible'
  | 'irreversible'
  | 'money'
  | 'clock'
  | 'person'
  | 'agent'
  | 'chain'
  | 'tool'
  | 'file'
  | 'mail'
  | 'warning'
  | 'stop'
  | 'key'
  | 'passkey'
  | 'search'
  | 'check'
  | 'cross'
  | 'chevron'
  | 'copy'
  | 'external'
  | 'pulse';

interface IconProps {
  readonly name: IconName;
  /** What it says, where it stands alone. */
  readonly says?: string | undefined;
  readonly class?: string;
}

export function Icon({ name, says, class: look }: IconProps) {
  const drawing = <use href={`#i-${name}`} />;
  const classes = look === undefined ? 'i' : `i ${look}`;
  if (says === undefined) {
    return (
      <svg class={classes} aria-hidden="true">
        {drawing}
      </svg>
    );
  }
  return (
    <svg class={classes} role="img" aria-label={says}>
      {drawing}
    </svg>
  );
}
