/**
 * Freezes by age, so that the cost of a page does not depend on their number.
 *
 * @module
 */

export const FREEZES_BY_AGE = `
CREATE INDEX freezes_by_age ON freezes (frozen_at, what, target);
`;
