/**
 * Freezes by age, so that a page of them costs the same however many there are.
 *
 * @module
 */

export const FREEZES_BY_AGE = `
CREATE INDEX freezes_by_age ON freezes (frozen_at, what, target);
`;
