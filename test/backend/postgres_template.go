package backend

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Names on the server. A template that is being made has the suffix, and loses
// it once its migrations are through: a template with its final name is whole.
const (
	templatePrefix = "waybill_template_"
	makingSuffix   = "_making"
	testPrefix     = "waybill_test_" // then the tag of the process, then a number
)

// Names of advisory locks. One guards the making and dropping
// of templates; the others say that a process uses a template or a tag, and go
// with its session however it ends.
const (
	lockMaking = "waybill test databases"
	lockOfName = "waybill test databases: "
)

var hashPattern = regexp.MustCompile(`^[a-z0-9]{12}`)

func templateName(hash string) (string, error) {
	short := hashPattern.FindString(hash)
	if short == "" {
		return "", fmt.Errorf("the migrations' hash %q does not begin with 12 lower-case letters or digits; pass a hex digest", hash)
	}
	return templatePrefix + short, nil
}

// newProcess makes the template where it is missing, marks it as used by this
// process, and drops what earlier processes left behind.
func newProcess(ctx context.Context, admin adminURL, template string, migrate func(context.Context, string) error) (_ *process, err error) {
	conn, err := connectForLocks(ctx, admin)
	if err != nil {
		return nil, fmt.Errorf("connect to the server of %s: %w; start it, or unset the variable and use test/servers", PostgresURLEnv, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
		}
	}()

	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended($1, 0))", lockMaking); err != nil {
		return nil, fmt.Errorf("wait for other test processes to make their templates: %w", err)
	}
	p := &process{admin: admin, template: template, tag: newTag(), lock: conn}
	for _, name := range []string{p.template, testPrefix + p.tag} {
		if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock_shared(hashtextextended($1, 0))", lockOfName+name); err != nil {
			return nil, fmt.Errorf("mark %s as in use: %w", name, err)
		}
	}
	if err := makeTemplate(ctx, conn, admin, template, migrate); err != nil {
		return nil, err
	}
	if err := dropAbandoned(ctx, conn, admin, template); err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_unlock(hashtextextended($1, 0))", lockMaking); err != nil {
		return nil, fmt.Errorf("let other test processes go on: %w", err)
	}
	return p, nil
}

// makeTemplate creates and migrates the template, unless it exists.
func makeTemplate(ctx context.Context, conn *pgx.Conn, admin adminURL, template string, migrate func(context.Context, string) error) error {
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", template).Scan(&exists); err != nil {
		return fmt.Errorf("look for template %s: %w", template, err)
	}
	if exists {
		return nil
	}

	making := template + makingSuffix
	// What a process that died half-way left.
	if err := admin.everywhere(ctx, "DROP DATABASE IF EXISTS "+quoteName(making)+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop the unfinished template %s: %w", making, err)
	}
	if err := admin.everywhere(ctx, "CREATE DATABASE "+quoteName(making)); err != nil {
		return fmt.Errorf("create %s: %w", making, err)
	}
	if nodes := admin.nodes(); len(nodes) > 1 {
		var databases []string
		for _, node := range nodes {
			databases = append(databases, node.database(making))
		}
		if err := FormCitus(ctx, databases); err != nil {
			return err
		}
	}
	if err := migrate(ctx, admin.database(making)); err != nil {
		return fmt.Errorf("migrate %s: %w", making, err)
	}
	// The coordinator's is last: one with its final name is whole.
	nodes := admin.nodes()
	for i := range nodes {
		if err := finish(ctx, nodes[len(nodes)-1-i], making, template); err != nil {
			return err
		}
	}
	return nil
}

// finish closes a template to connections and gives it its name.
func finish(ctx context.Context, node adminURL, making, template string) error {
	// A session on the template would make every copy of it fail.
	if err := node.exec(ctx, "ALTER DATABASE "+quoteName(making)+" ALLOW_CONNECTIONS false"); err != nil {
		return fmt.Errorf("close %s to connections: %w", making, err)
	}
	for {
		if os.Getenv(CitusWorkersEnv) != "" { // there is that of Citus' maintenance, which does not end by itself
			if err := node.exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+making+"'"); err != nil {
				return fmt.Errorf("end the sessions of %s: %w", making, err)
			}
		}
		err := node.exec(ctx, "ALTER DATABASE "+quoteName(making)+" RENAME TO "+quoteName(template))
		if err == nil {
			return nil
		}
		// The sessions of migrate end on the server a moment after they close.
		if !hasCode(err, objectInUse) || pause(ctx) != nil {
			return fmt.Errorf("rename %s to %s: %w", making, template, err)
		}
	}
}

// connectForLocks opens the session for the locks. Advisory locks belong to one
// database, so that all processes have to take them in the same one, whatever
// database the URL names: "postgres", which nearly every server has.
func connectForLocks(ctx context.Context, admin adminURL) (*pgx.Conn, error) {
	if conn, err := pgx.Connect(ctx, admin.database("postgres")); err == nil {
		return conn, nil
	}
	return pgx.Connect(ctx, admin.String())
}

// dropAbandoned drops the templates of other hashes and the databases of other
// processes that no living process uses. The lock for making is held, so that no
// process begins to use one meanwhile.
func dropAbandoned(ctx context.Context, conn *pgx.Conn, admin adminURL, template string) error {
	rows, err := conn.Query(ctx, "SELECT datname FROM pg_database WHERE starts_with(datname, $1) OR starts_with(datname, $2)", templatePrefix,
		testPrefix)
	if err != nil {
		return fmt.Errorf("list old test databases: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("list old test databases: %w", err)
	}
	for _, name := range names {
		if name == template {
			continue
		}
		if err := dropUnused(ctx, conn, admin, name); err != nil {
			return fmt.Errorf("drop the old test database %s: %w", name, err)
		}
	}
	return nil
}

// dropUnused drops the database unless a living process holds its lock, or it
// belongs to a user whose databases we may not drop.
func dropUnused(ctx context.Context, conn *pgx.Conn, admin adminURL, name string) error {
	owner := strings.TrimSuffix(name, makingSuffix)
	if rest, ok := strings.CutPrefix(name, testPrefix); ok {
		tag, _, _ := strings.Cut(rest, "_")
		owner = testPrefix + tag
	}
	var unused bool
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", lockOfName+owner).Scan(&unused); err != nil {
		return err
	}
	if !unused {
		return nil
	}
	err := admin.everywhere(ctx, "DROP DATABASE IF EXISTS "+quoteName(name)+" WITH (FORCE)")
	if hasCode(err, insufficientPrivilege) {
		err = nil
	}
	_, unlockErr := conn.Exec(ctx, "SELECT pg_advisory_unlock(hashtextextended($1, 0))", lockOfName+owner)
	return errors.Join(err, unlockErr)
}

// newTag returns a name no other process has.
func newTag() string {
	var tag [6]byte
	_, _ = rand.Read(tag[:]) // crypto/rand never fails
	return hex.EncodeToString(tag[:])
}
