-- +goose Up

-- Accounts of the company's identity provider that let persons in.
CREATE TABLE person_identities (
    issuer      text NOT NULL,
    subject     text NOT NULL, -- as the provider names the account
    person_id   uuid NOT NULL REFERENCES persons (id),
    created_at  timestamptz(3) NOT NULL,
    CONSTRAINT person_identities_pkey PRIMARY KEY (issuer, subject)
);
CREATE INDEX person_identities_person_idx ON person_identities (person_id);

-- A browser that is away at the provider is a challenge too.
ALTER TABLE passkey_ceremonies DROP CONSTRAINT passkey_ceremonies_purpose_check;
ALTER TABLE passkey_ceremonies ADD CONSTRAINT passkey_ceremonies_purpose_check
    CHECK (purpose IN ('add', 'sign_in', 'confirm', 'oidc_sign_in', 'oidc_confirm', 'oidc_connect'));
