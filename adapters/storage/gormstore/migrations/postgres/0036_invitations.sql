-- +goose Up

-- The name that the inviter typed. It belongs to the invitation until that is accepted; null:
-- the person's own name counts.
ALTER TABLE memberships ADD COLUMN IF NOT EXISTS name text;

-- Who was shown the link beside the person: empty for somebody else, 'mailed' or 'command' for
-- nobody. In these cases the person proves the email address by it.
ALTER TABLE person_links ADD COLUMN IF NOT EXISTS origin text NOT NULL DEFAULT '';

-- The person came by a link that nobody else was shown, or by the identity provider. Before
-- that, whoever was shown the invitation may have opened the account. Staff, and people of
-- several businesses, came by a link of their own already.
ALTER TABLE persons ADD COLUMN IF NOT EXISTS email_proven boolean NOT NULL DEFAULT false;
UPDATE persons SET email_proven = true WHERE id IN (SELECT person_id FROM memberships WHERE accepted_at IS NOT NULL
    GROUP BY person_id HAVING count(*) > 1 OR count(business_id) = 0)
    OR id IN (SELECT person_id FROM person_identities);
