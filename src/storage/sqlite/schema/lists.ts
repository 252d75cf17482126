/**
 * Indexes that keep the cost of a list page, and of the search for due notifications, independent of the
 * table's size.
 *
 * @module
 */

/** Freezes by age; notifications by target, so that those of an excluded target are not read. */
export const BOUNDED_LISTS = `
  CREATE INDEX freezes_by_age ON freezes (frozen_at, what, target);
  DROP INDEX deliveries_pending;
  CREATE INDEX deliveries_due ON deliveries (target, next_attempt_at, place)
    WHERE state = 'pending';
`;
