/**
 * The view Tools of a guard: what needs review, where the tools come from, and every tool of the policy.
 *
 * @module
 */

import { useState } from 'preact/hooks';
import type { ShownReview, ToolReviews } from '../../protocol/console/reviews.ts';
import { ask } from '../api.ts';
import { Confirm } from '../parts/dialog.tsx';
import { Hash, Shown } from '../parts/elements.tsx';
import { Empty, Ready, useLoaded } from '../parts/loaded.tsx';
import { counted } from './counted.ts';
import { type Done, Outcome } from './outcome.tsx';
import { AllTools, type Declarations, Servers } from './tools/all.tsx';
import { Hidden, Review } from './tools/review.tsx';

export function ToolsView() {
  // Not loaded again by itself: the texts must not change between reading and accepting.
  const loaded = useLoaded(async () => {
    const [found, { capabilities }] = await Promise.all([ask('reviews', {}), ask('manifest', {})]);
    return { found, capabilities };
  }, []);
  const [accepting, choose] = useState<ShownReview>();
  const [done, setDone] = useState<Done>();
  const accept = async () => {
    const { name, digest } = accepting ?? {};
    if (name === undefined || digest === undefined) return;
    await ask('reviews.accept', { name, digest });
    setDone({ words: `Reviewed: ${name}.` });
    loaded.again();
  };
  const value = loaded.state === 'loading' ? undefined : loaded.value;
  return (
    <>
      <div class="head mid">
        <h1>Tools</h1> {value ? <Count of={value.found} on={value.capabilities} /> : null}
      </div>
      <Outcome of={done} />
      <Ready of={loaded} what="The list of tools">
        {({ found, capabilities }) => (
          <>
            <Needs of={found} onAccept={choose} />
            <Servers of={found.servers} />
            <AllTools of={capabilities} off={found.off} />
          </>
        )}
      </Ready>
      <AcceptDialog of={accepting} onClose={() => choose(undefined)} onConfirm={accept} />
    </>
  );
}

function Count({ of, on }: { readonly of: ToolReviews; readonly on: Declarations }) {
  const count = Object.keys(on).length;
  const waiting = of.reviews.length + of.more;
  return (
    <p class="small muted">
      {counted(count + of.off.length, 'tool')} in your policy: {count} on, {of.off.length} off
      {waiting === 0 ? '' : `, ${waiting} to review`}
    </p>
  );
}

interface NeedsProps {
  readonly of: ToolReviews;
  onAccept(review: ShownReview): void;
}

function Needs({ of: { reviews, more }, onAccept }: NeedsProps) {
  const count = reviews.length + more;
  if (count === 0) return <Empty>Every tool is as it was reviewed.</Empty>;
  return (
    <section aria-labelledby="h-review">
      <div class="head">
        <h2 id="h-review" class="warn">
          Needs review
        </h2>{' '}
        <small>{count === 1 ? '1 tool is' : `${count} tools are`} not as reviewed, and off</small>
      </div>
      {reviews.map((each) => (
        <Review key={each.name} of={each} onAccept={onAccept} />
      ))}
      {more > 0 ? <p class="small muted">{more} more wait.</p> : null}
    </section>
  );
}

interface AcceptDialogProps {
  readonly of: ShownReview | undefined;
  onClose(): void;
  onConfirm(): Promise<void>;
}

function AcceptDialog({ of, onClose, onConfirm }: AcceptDialogProps) {
  return (
    <Confirm
      open={of !== undefined}
      onClose={onClose}
      title={
        <>
          Accept <Shown text={of?.name ?? ''} /> as it is now?
        </>
      }
      back="Keep it off"
      confirm="Accept this tool"
      onConfirm={onConfirm}
    >
      {of ? <Hidden of={of} /> : null}
      <p>
        Agents get the tool with exactly these texts, if the policy offers it. The log keeps your
        name and the digest.
      </p>
      <p class="small">
        <Hash hex={of?.digest ?? ''} what="the digest" />
      </p>
      <label class="opt">
        <input type="checkbox" required /> <span>I read the text above and know who wrote it.</span>
      </label>
    </Confirm>
  );
}
