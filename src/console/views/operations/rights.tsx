/**
 * Rights of operators: a block for a right that the person lacks says who could grant it.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import type { Me, OperatorRight } from '../../../protocol/console/views.ts';

interface BlockProps {
  /** Also the address of the block within the page. */
  readonly name: string;
  readonly title: string;
  /** The right that reading needs. */
  readonly needs: OperatorRight;
  readonly person: Me;
  /** Beside the heading. */
  readonly beside?: ComponentChildren;
  /** Rendered only with the right, so that it asks for nothing without it. */
  readonly children: () => ComponentChildren;
}

export function Block({ name, title, needs, person, beside, children }: BlockProps) {
  const may = person.operates.includes(needs);
  return (
    <section aria-labelledby={`h-${name}`}>
      <div class="head">
        <h2 id={`h-${name}`}>{title}</h2>
        {may ? beside : null}
      </div>
      {may ? children() : <Lacking right={needs} />}
    </section>
  );
}

function Lacking({ right }: { readonly right: OperatorRight }) {
  return (
    <p class="muted">
      You do not have the scope <code>operator:{right}</code>. A person who configures the
      identities of this service can grant it.
    </p>
  );
}
