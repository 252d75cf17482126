/**
 * Indexes that keep a page of a list, and a look for what is due, from growing with the rest.
 *
 * @module
 */

/** Freezes by age; and notifications by target, so that those of one that is left out are not read. */
export const BOUNDED_LISTS = `
  CREATE INDEX freezes_by_age ON freezes (frozen_at, what, target);
  DROP INDEX deliveries_pending;
  CREATE INDEX deliveries_due ON deliveries (target, next_attempt_at, place)
    WHERE state = 'pending';
`;
