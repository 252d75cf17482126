/**
 * The MACs of rows that carry authority (`storage/port/row-forms.ts`), and the record that they were made.
 *
 * @module
 */

/** `row_seal` is set when rows of an older program get their MACs: from then on every row has one. */
export const ROW_MACS = `
  ALTER TABLE tokens ADD COLUMN mac TEXT;
  ALTER TABLE tokens ADD COLUMN revoked_mac TEXT;
  ALTER TABLE freezes ADD COLUMN mac TEXT;
  ALTER TABLE bindings ADD COLUMN mac TEXT;
  ALTER TABLE approval_requests ADD COLUMN mac TEXT;
  ALTER TABLE approvals ADD COLUMN mac TEXT;
  ALTER TABLE grants ADD COLUMN mac TEXT;
  ALTER TABLE store ADD COLUMN row_seal TEXT;
`;
