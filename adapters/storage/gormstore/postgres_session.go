package gormstore

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pgBegin begins every transaction. A role or a database may have another default, and this package
// relies on READ COMMITTED. A statement that waited for a row sees its newest version, and the
// transaction that holds the migration lock keeps no snapshot.
const pgBegin = "begin isolation level read committed"

// sessionSettings lists the parameters that this package relies on, whatever the role, the database
// or the URL says. They are READ COMMITTED for statements outside of transactions, and the form of
// texts, times, bytes and numbers that are sent as text.
var sessionSettings = map[string]string{
	"default_transaction_isolation": "read committed",
	"client_encoding":               "UTF8",
	"standard_conforming_strings":   "on",
	"datestyle":                     "ISO",
	"bytea_output":                  "hex",
	"extra_float_digits":            "1",
}

// parsePostgresURL parses a URL, and adds sessionSettings. It turns names of parameters into lower
// case, and options=-c name=value into separate parameters. A parameter sent beside options would
// override them, and a pooler would lose them.
func parsePostgresURL(address string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, unreadable(err)
	}
	named, rest := parseOptions(config.RuntimeParams["options"])
	delete(config.RuntimeParams, "options")
	for name, value := range config.RuntimeParams {
		named[strings.ToLower(name)] = value
	}
	if rest != "" {
		named["options"] = rest
	}
	maps.Copy(named, sessionSettings)
	config.RuntimeParams = named
	return config, nil
}

// unreadable returns why a URL cannot be parsed, without any part of it. pgx repeats the URL, and
// recognizes a password only where one is expected.
func unreadable(err error) error {
	const urlEnds, noURL = "`: ", "failed to parse as URL"
	if parsing, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		text := parsing.Error()
		at := strings.LastIndex(text, urlEnds)
		if why := text[at+len(urlEnds):]; at >= 0 && !strings.HasPrefix(why, noURL) {
			return fmt.Errorf("the database URL cannot be read: %s", why)
		}
	}
	return errors.New("the database URL cannot be read: it is not of the form postgres://user:password@host:5432/name?parameter=value," +
		" or a special character in it is not percent-encoded, as @ is by %40")
}

// parseOptions parses command-line options of a server as Postgres does: words separated by spaces,
// with a backslash before a character that belongs to the word. rest holds those that set no
// parameter.
func parseOptions(options string) (named map[string]string, rest string) {
	named = map[string]string{}
	words := optionWords(options)
	var others []string
	for i := 0; i < len(words); i++ {
		setting, found := strings.CutPrefix(words[i], "--")
		if !found {
			setting, found = strings.CutPrefix(words[i], "-c")
		}
		if found && setting == "" && i+1 < len(words) {
			i++
			setting = words[i]
		}
		name, value, set := strings.Cut(setting, "=")
		if !found || !set || name == "" {
			others = append(others, strings.NewReplacer(`\`, `\\`, " ", `\ `).Replace(words[i]))
			continue
		}
		named[strings.ToLower(strings.ReplaceAll(name, "-", "_"))] = value
	}
	return named, strings.Join(others, " ")
}

func optionWords(options string) (words []string) {
	var word strings.Builder
	escaped := false
	for _, r := range options {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped = true
		case strings.ContainsRune(" \t\r\n\v\f", r):
			if word.Len() > 0 {
				words = append(words, word.String())
				word.Reset()
			}
		default:
			word.WriteRune(r)
		}
	}
	if word.Len() > 0 {
		words = append(words, word.String())
	}
	return words
}

func setDefault(config *pgx.ConnConfig, name, value string) {
	if _, ok := config.RuntimeParams[name]; !ok {
		config.RuntimeParams[name] = value
	}
}
