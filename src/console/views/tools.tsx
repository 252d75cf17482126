/**
 * The view Tools: tools of others that changed since their review, with what changed, and how an operator accepts one.
 *
 * Names, descriptions and schemas are text of strangers.
 *
 * @module
 */

import { useId, useState } from 'preact/hooks';
import type { ShownReview } from '../../protocol/console/reviews.ts';
import { ask, me } from '../api.ts';
import { Confirm } from '../parts/dialog.tsx';
import { Code, Heads, Pill, Shown } from '../parts/elements.tsx';
import { Empty, Ready, useLoaded } from '../parts/loaded.tsx';
import { Value } from '../parts/words.tsx';
import { type Done, Outcome } from './outcome.tsx';

const KINDS = {
  new: { pill: 'act', words: 'New' },
  changed: { pill: 'warn', words: 'Changed' },
  gone: { pill: 'off', words: 'Gone' },
} as const;

export function ToolsView() {
  // Not loaded again by itself: the texts must not change between reading and accepting.
  const loaded = useLoaded(() => ask('reviews', {}), []);
  const [accepting, choose] = useState<ShownReview>();
  const [done, setDone] = useState<Done>();
  const accept = async () => {
    const { name, digest } = accepting ?? {};
    if (name === undefined || digest === undefined) return;
    await ask('reviews.accept', { name, digest });
    setDone({ words: `Reviewed: ${name}.` });
    loaded.again();
  };
  return (
    <>
      <h1>Tools</h1>
      <p>
        This service passes on tools of another server. A tool that is new or changed stays off
        until an operator has read it. The other server wrote the texts below.
      </p>
      <Outcome of={done} />
      <Ready of={loaded} what="The list of tools">
        {({ reviews, more }) => (
          <>
            {reviews.length === 0 ? <Empty>Every tool is as it was reviewed.</Empty> : null}
            {reviews.map((each) => (
              <Review key={each.name} of={each} onAccept={choose} />
            ))}
            {more > 0 ? <p class="small muted">{more} more wait.</p> : null}
          </>
        )}
      </Ready>
      <Confirm
        open={accepting !== undefined}
        onClose={() => choose(undefined)}
        title={
          <>
            Accept <Shown text={accepting?.name ?? ''} />?
          </>
        }
        back="Leave it off"
        confirm="Accept"
        onConfirm={accept}
      >
        <p>
          Agents get the tool with exactly these texts, if the policy offers it. The log keeps your
          name and the digest.
        </p>
        <p class="small">
          <code>{accepting?.digest}</code>
        </p>
      </Confirm>
    </>
  );
}

interface ReviewProps {
  readonly of: ShownReview;
  onAccept(review: ShownReview): void;
}

function Review({ of, onAccept }: ReviewProps) {
  const title = useId();
  const { pill, words } = KINDS[of.kind];
  const mayAccept = of.digest !== undefined && of.is_whole;
  return (
    <section aria-labelledby={title}>
      <h2 id={title}>
        <Shown text={of.name} /> <Pill state={pill}>{words}</Pill>
      </h2>
      {of.is_whole ? null : <p>It is too long for this page. Read it with writ guard review.</p>}
      {of.parts.length > 0 ? <Changes of={of} /> : null}
      {of.now === undefined ? null : <Value of={of.now} />}
      {mayAccept && me.value?.operates.includes('review') ? (
        <button type="button" onClick={() => onAccept(of)}>
          Accept…
        </button>
      ) : null}
    </section>
  );
}

function Changes({ of: { parts } }: Pick<ReviewProps, 'of'>) {
  return (
    <table>
      <Heads of={['Part', 'Reviewed', 'Now']} />
      <tbody>
        {parts.map(({ part, before, now }) => (
          <tr key={part}>
            <th scope="row">
              <Shown text={part} />
            </th>
            <td>
              <Lines of={before} />
            </td>
            <td>
              <Lines of={now} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Lines({ of }: { readonly of: string }) {
  return (
    <>
      {of.split('\n').map((line) => (
        <p>
          <Code text={line} />
        </p>
      ))}
    </>
  );
}
