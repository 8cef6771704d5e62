package gormstore

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"waybill/domain"
	"waybill/ports"
)

var (
	personTable     = newTable(personRow{})
	membershipTable = newTable(membershipRow{})
	sessionTable    = newTable(sessionRow{})
)

// persons implements ports.PersonStore.
type persons struct{ session }

func (s persons) Get(ctx context.Context, id domain.ID) (domain.Person, error) {
	return s.get(s.with(ctx), id)
}

func (s persons) Lock(ctx context.Context, id domain.ID) (domain.Person, error) {
	return s.get(s.with(ctx).Clauses(clause.Locking{Strength: "UPDATE"}), id)
}

func (s persons) get(query *gorm.DB, id domain.ID) (domain.Person, error) {
	key, err := lookup(domain.PrefixPerson, id)
	if err != nil {
		return domain.Person{}, err
	}
	return s.take(query.Where("id = ?", key))
}

func (s persons) FindByEmail(ctx context.Context, email domain.Email) (domain.Person, error) {
	if !storable(string(email)) {
		return domain.Person{}, domain.ErrNotFound
	}
	return s.take(s.with(ctx).Where("email = ?", string(email)))
}

func (s persons) take(query *gorm.DB) (domain.Person, error) {
	var row personRow
	if err := query.Take(&row).Error; err != nil {
		return domain.Person{}, s.dialect.failed("read a person", err)
	}
	return row.domain(), nil
}

func (s persons) Add(ctx context.Context, p domain.Person) (domain.Person, bool, error) {
	row := newPersonRow(p)
	result := personTable.insertInto(ctx, s.with(ctx), row, " ON CONFLICT (email) DO NOTHING")
	if result.Error != nil {
		return domain.Person{}, false, s.dialect.failed("insert a person", result.Error)
	}
	stored, err := s.FindByEmail(ctx, p.Email)
	return stored, result.RowsAffected == 1, err
}

func (s persons) Update(ctx context.Context, p domain.Person) error {
	key, err := lookup(domain.PrefixPerson, p.ID)
	if err != nil {
		return err
	}
	row := newPersonRow(p)
	result := s.with(ctx).Exec("UPDATE persons SET name = ?, state = ?, password_hash = ?, email_proven = ? WHERE id = ?",
		row.Name, row.State, row.PasswordHash, row.EmailProven, key)
	return s.dialect.changed("update a person", result)
}

// memberships implements ports.MembershipStore.
type memberships struct{ session }

var selectMembers = "SELECT " + personTable.selectAs("p", "person_") + ", " + membershipTable.selectAs("m", "membership_") +
	" FROM memberships m JOIN persons p ON p.id = m.person_id WHERE "

// body returns the condition for the members of a business, or of the staff for an empty one. ok is
// false where no such business can exist.
func body(business domain.ID) (condition string, values []any, ok bool) {
	if business == "" {
		return "m.business_id IS NULL", nil, true
	}
	key, err := lookup(domain.PrefixBusiness, business)
	return "m.business_id = ?", []any{key}, err == nil
}

func (s memberships) Members(ctx context.Context, business domain.ID) ([]domain.Member, error) {
	return s.members(ctx, business, " ORDER BY m.created_at, m.person_id")
}

func (s memberships) LockMembers(ctx context.Context, business domain.ID) ([]domain.Member, error) {
	if err := s.reach(rowMembers, string(business)); err != nil {
		return nil, s.dialect.failed("lock members", err)
	}
	const order = " ORDER BY m.person_id"
	if s.dialect.lockMembers != "" {
		// Read again after the locks: their last holder may have changed a person, whose row is not
		// locked here.
		if _, err := s.members(ctx, business, order+s.dialect.lockMembers); err != nil {
			return nil, err
		}
	}
	return s.members(ctx, business, order)
}

func (s memberships) members(ctx context.Context, business domain.ID, order string) ([]domain.Member, error) {
	condition, values, ok := body(business)
	if !ok {
		return nil, nil // no such business, so no members
	}
	var rows []memberRow
	err := s.with(ctx).Raw(selectMembers+condition+order, values...).Scan(&rows).Error
	return all(rows, (*memberRow).domain), s.dialect.failed("list members", err)
}

func (s memberships) Member(ctx context.Context, business, person domain.ID) (domain.Member, error) {
	condition, values, ok := body(business)
	key, err := lookup(domain.PrefixPerson, person)
	if !ok || err != nil {
		return domain.Member{}, domain.ErrNotFound
	}
	var row memberRow
	result := s.with(ctx).Raw(selectMembers+condition+" AND m.person_id = ?", append(values, key)...).Scan(&row)
	if result.Error == nil && result.RowsAffected == 0 {
		return domain.Member{}, domain.ErrNotFound
	}
	return row.domain(), s.dialect.failed("read a member", result.Error)
}

func (s memberships) OfPerson(ctx context.Context, person domain.ID) ([]domain.Membership, error) {
	key, _ := lookup(domain.PrefixPerson, person)
	if key == "" {
		return nil, nil // no such person, so no memberships
	}
	var rows []membershipRow
	err := s.with(ctx).Where("person_id = ?", key).Order("created_at, business_id").Find(&rows).Error
	return all(rows, (*membershipRow).domain), s.dialect.failed("list memberships", err)
}

func (s memberships) Insert(ctx context.Context, m domain.Membership) error {
	row := newMembershipRow(m)
	return s.dialect.failed("insert a membership", membershipTable.insertInto(ctx, s.with(ctx), row, "").Error)
}

func (s memberships) Update(ctx context.Context, m domain.Membership) error {
	row := newMembershipRow(m)
	return s.change(ctx, m.BusinessID, m.PersonID, "update a membership",
		"UPDATE memberships AS m SET role = ?, name = ?, accepted_at = ?, signed_out_at = ? WHERE ",
		row.Role, row.Name, row.AcceptedAt, row.SignedOutAt)
}

func (s memberships) Remove(ctx context.Context, business, person domain.ID) error {
	return s.change(ctx, business, person, "remove a membership", "DELETE FROM memberships AS m WHERE ")
}

func (s memberships) change(ctx context.Context, business, person domain.ID, what, statement string, values ...any) error {
	condition, of, ok := body(business)
	key, err := lookup(domain.PrefixPerson, person)
	if !ok || err != nil {
		return domain.ErrNotFound
	}
	result := s.with(ctx).Exec(statement+condition+" AND m.person_id = ?", append(append(values, of...), key)...)
	return s.dialect.changed(what, result)
}

// links implements ports.LinkStore.
type links struct{ session }

func (s links) FindByDigest(ctx context.Context, digest [32]byte) (domain.Link, error) {
	var row linkRow
	if err := s.with(ctx).Where("digest = ?", digest[:]).Take(&row).Error; err != nil {
		return domain.Link{}, s.dialect.failed("read a link", err)
	}
	return row.domain(), nil
}

func (s links) Insert(ctx context.Context, l domain.Link) error {
	row := newLinkRow(l)
	return s.dialect.failed("insert a link", s.with(ctx).Create(&row).Error)
}

func (s links) Use(ctx context.Context, id domain.ID, at time.Time) error {
	key, err := lookup(domain.PrefixLink, id)
	if err != nil {
		return err
	}
	result := s.with(ctx).Exec("UPDATE person_links SET used_at = ? WHERE id = ? AND used_at IS NULL", instantOf(at), key)
	if result.Error == nil && result.RowsAffected == 0 {
		return domain.LinkUsed()
	}
	return s.dialect.failed("use a link", result.Error)
}

func (s links) Invitations(ctx context.Context, person, business domain.ID, since time.Time) (int, error) {
	key, err := lookup(domain.PrefixPerson, person)
	if err != nil {
		return 0, nil //nolint:nilerr // no such person, so no links
	}
	query, ok := to(s.with(ctx).Model(&linkRow{}).Where("person_id = ? AND purpose = ? AND created_at > ?", key,
		string(domain.LinkInvitation), instantOf(since)), &business)
	if !ok {
		return 0, nil
	}
	var n int64
	err = query.Count(&n).Error
	return int(n), s.dialect.failed("count links", err)
}

func (s links) UseAll(ctx context.Context, which ports.LinksOf, at time.Time) error {
	key, err := lookup(domain.PrefixPerson, which.PersonID)
	if err != nil {
		return err
	}
	query, ok := to(s.with(ctx).Model(&linkRow{}).Where("person_id = ? AND used_at IS NULL AND expires_at > ?", key, instantOf(at)),
		which.BusinessID)
	if !ok {
		return nil
	}
	if which.OneBusiness {
		query = query.Where("one_business")
	}
	if which.Purpose != "" {
		query = query.Where("purpose = ?", string(which.Purpose))
	}
	if len(which.Origins) > 0 {
		query = query.Where("origin IN ?", which.Origins)
	}
	return s.dialect.failed("make links useless", query.Updates(map[string]any{"used_at": instantOf(at), "expires_at": instantOf(at)}).Error)
}

// to limits a query to one business, or to the console for an empty one; nil limits nothing. ok is
// false where no such business can exist.
func to(query *gorm.DB, business *domain.ID) (narrowed *gorm.DB, ok bool) {
	switch {
	case business == nil:
		return query, true
	case *business == "":
		return query.Where("business_id IS NULL"), true
	}
	key, err := lookup(domain.PrefixBusiness, *business)
	return query.Where("business_id = ?", key), err == nil
}

// sessions implements ports.SessionStore.
type sessions struct{ session }

// selectPrincipal finds sessions of active people only, and only of a site where the person has an
// accepted membership now, in a business that is not disabled. An operator's link accepts no
// invitation, so its sessions need no accepted one.
var selectPrincipal = "SELECT " + sessionTable.selectAs("s", "session_") + ", " + personTable.selectAs("p", "person_") +
	", " + membershipTable.selectAs("m", "membership_") +
	" FROM sessions s JOIN persons p ON p.id = s.person_id" +
	" JOIN memberships m ON m.person_id = s.person_id AND (m.business_id = s.business_id OR m.business_id IS NULL AND s.business_id IS NULL)" +
	" LEFT JOIN businesses b ON b.id = s.business_id" +
	" WHERE (p.state = 'active' AND m.accepted_at IS NOT NULL OR s.one_business AND p.state <> 'disabled')" +
	" AND (b.id IS NULL OR NOT b.disabled) AND "

func (s sessions) FindByDigest(ctx context.Context, digest [32]byte) (domain.Principal, error) {
	return s.principal(ctx, "s.digest = ?", digest[:])
}

func (s sessions) Get(ctx context.Context, id domain.ID) (domain.Principal, error) {
	key, err := lookup(domain.PrefixSession, id)
	if err != nil {
		return domain.Principal{}, err
	}
	return s.principal(ctx, "s.id = ?", key)
}

func (s sessions) principal(ctx context.Context, which string, value any) (domain.Principal, error) {
	var row principalRow
	result := s.with(ctx).Raw(selectPrincipal+which, value).Scan(&row)
	if result.Error == nil && result.RowsAffected == 0 {
		return domain.Principal{}, domain.ErrNotFound
	}
	if result.Error != nil {
		return domain.Principal{}, s.dialect.failed("read a session", result.Error)
	}
	return row.domain(), nil
}

func (s sessions) Those(ctx context.Context, ids []domain.ID) ([]domain.Principal, error) {
	var keys []rowID
	for _, id := range ids {
		if key, err := lookup(domain.PrefixSession, id); err == nil {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	var rows []principalRow
	err := s.with(ctx).Raw(selectPrincipal+"s.id IN ?", padded(keys)).Scan(&rows).Error
	return all(rows, (*principalRow).domain), s.dialect.failed("read sessions", err)
}

func (s sessions) OfPerson(ctx context.Context, person domain.ID, at time.Time) ([]domain.Session, error) {
	key, _ := lookup(domain.PrefixPerson, person)
	if key == "" {
		return nil, nil // no such person, so no sessions
	}
	var rows []sessionRow
	err := s.with(ctx).Where("person_id = ? AND ended_at IS NULL AND expires_at > ? AND last_seen_at > ?",
		key, instantOf(at), instantOf(at.Add(-domain.SessionIdle))).Order("created_at DESC, id DESC").Find(&rows).Error
	return all(rows, (*sessionRow).domain), s.dialect.failed("list sessions", err)
}

func (s sessions) Insert(ctx context.Context, session domain.Session) error {
	row := newSessionRow(session)
	return s.dialect.failed("insert a session", s.with(ctx).Create(&row).Error)
}

func (s sessions) Seen(ctx context.Context, id domain.ID, at time.Time) error {
	key, err := lookup(domain.PrefixSession, id)
	if err != nil {
		return err
	}
	result := s.with(ctx).Exec("UPDATE sessions SET last_seen_at = ? WHERE id = ? AND last_seen_at < ?", instantOf(at), key, instantOf(at))
	return s.dialect.failed("keep the use of a session", result.Error)
}

func (s sessions) SignedIn(ctx context.Context, id domain.ID, method domain.SignInMethod, at time.Time) error {
	key, err := lookup(domain.PrefixSession, id)
	if err != nil {
		return err
	}
	result := s.with(ctx).Exec("UPDATE sessions SET signed_in_at = ?, method = ? WHERE id = ?", instantOf(at), string(method), key)
	return s.dialect.changed("keep a sign-in", result)
}

func (s sessions) Show(ctx context.Context, id, business domain.ID) error {
	key, err := lookup(domain.PrefixSession, id)
	if err != nil {
		return err
	}
	result := s.with(ctx).Exec("UPDATE sessions SET business_id = ? WHERE id = ?", optionalRowID(business), key)
	return s.dialect.changed("show another business", result)
}

func (s sessions) End(ctx context.Context, which ports.SessionsOf, at time.Time) (int, error) {
	key, _ := lookup(domain.PrefixPerson, which.PersonID)
	if key == "" {
		return 0, nil // no such person, so no sessions
	}
	query := s.with(ctx).Model(&sessionRow{}).Where("person_id = ? AND ended_at IS NULL", key)
	if which.ID != "" {
		id, _ := lookup(domain.PrefixSession, which.ID)
		if id == "" {
			return 0, nil
		}
		query = query.Where("id = ?", id)
	}
	if which.Except != "" {
		id, err := lookup(domain.PrefixSession, which.Except)
		if err != nil {
			return 0, err
		}
		query = query.Where("id <> ?", id)
	}
	query, ok := to(query, which.BusinessID)
	if !ok {
		return 0, nil
	}
	result := query.Update("ended_at", instantOf(at))
	return int(result.RowsAffected), s.dialect.failed("end sessions", result.Error)
}
