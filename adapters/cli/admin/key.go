package admin

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/application/access"
	"waybill/domain"
)

// issuedView is a key with its secret. It is shown only once.
type issuedView struct {
	ID          string   `json:"id"`
	Key         string   `json:"key"`
	Environment string   `json:"environment"`
	Scopes      []string `json:"scopes"`
	ExpiresAt   *string  `json:"expires_at"`
}

// keyView is a key without its secret.
type keyView struct {
	ID          string   `json:"id"`
	Application string   `json:"application_id"`
	Environment string   `json:"environment"`
	Scopes      []string `json:"scopes"`
	LastFour    string   `json:"last_four"`
	CreatedAt   string   `json:"created_at"`
	ExpiresAt   *string  `json:"expires_at"`
	RevokedAt   *string  `json:"revoked_at"`
	LastUsedAt  *string  `json:"last_used_at"`
}

func showKey(k domain.APIKey) keyView {
	return keyView{
		ID: string(k.ID), Application: string(k.ApplicationID), Environment: string(k.Environment), Scopes: scopeNames(k.Scopes),
		LastFour:  k.LastFour,
		CreatedAt: domain.FormatTime(k.CreatedAt), ExpiresAt: term.Moment(k.ExpiresAt), RevokedAt: term.Moment(k.RevokedAt),
		LastUsedAt: term.Moment(k.LastUsedAt),
	}
}

func (v keyView) row(w io.Writer) {
	term.Row(w, v.ID, v.Environment, "..."+v.LastFour, v.CreatedAt, term.Dash(v.ExpiresAt), term.Dash(v.RevokedAt), term.Dash(v.LastUsedAt),
		strings.Join(v.Scopes, ","))
}

func keyHeader(w io.Writer) {
	term.Row(w, "ID", "ENVIRONMENT", "KEY", "CREATED", "EXPIRES", "REVOKED", "LAST USED", "SCOPES")
}

func scopeNames(scopes []domain.Scope) []string {
	names := make([]string, 0, len(scopes))
	for _, s := range scopes {
		names = append(names, string(s))
	}
	return names
}

func (p *Commands) key() *cobra.Command {
	return term.Group("key", "API keys: create, rotate, revoke, list", p.keyCreate(), p.keyRotate(), p.keyRevoke(), p.keyList())
}

func (p *Commands) showIssued(k access.IssuedKey) error {
	v := issuedView{
		ID: string(k.ID), Key: k.Secret, Environment: string(k.Environment),
		Scopes: scopeNames(k.Scopes), ExpiresAt: term.Moment(k.ExpiresAt),
	}
	return p.Show(v, func(w io.Writer) {
		term.Row(w, "ID", v.ID)
		term.Row(w, "Key", v.Key+"   (not shown again: store it now)")
		term.Row(w, "Environment", v.Environment)
		term.Row(w, "Scopes", strings.Join(v.Scopes, ","))
		term.Row(w, "Expires", term.Dash(v.ExpiresAt))
	})
}

func (p *Commands) keyCreate() *cobra.Command {
	var app, env, scopes, expiresIn string
	cmd := &cobra.Command{
		Use: "create --app ID --env live|sandbox --scopes all|A,B", Short: "Make a key; it is shown this once",
		Long: "Make a key; it is shown this once. An application has at most " + strconv.Itoa(domain.MaxUsableKeys) +
			" usable keys in an environment.",
		Example: `  waybill key create --app app_0198f3a27c4e7b1d9a6e5c2f10d3b847 --env sandbox --scopes all
  waybill key create --app app_0198f3a27c4e7b1d9a6e5c2f10d3b847 --env live --scopes quotes:read,deliveries:write --expires-in 90d`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := term.Required(cmd, "app", "env", "scopes"); err != nil {
				return err
			}
			id, err := term.ParseID(cmd, "an application", domain.PrefixApplication, app)
			if err != nil {
				return err
			}
			environment, err := term.ParseEnvironment(cmd, env)
			if err != nil {
				return err
			}
			granted, err := domain.ParseScopes(scopes)
			if err != nil {
				return term.Usagef(cmd, "--%s", term.Message(err))
			}
			var lifetime *time.Duration
			if cmd.Flag("expires-in").Changed {
				d, err := domain.ParseLifetime(expiresIn)
				if err != nil {
					return term.Usagef(cmd, "--expires-in is %q; %v", expiresIn, err)
				}
				lifetime = &d
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				key, err := o.Tenants.IssueKey(cmd.Context(), p.OperatorHere(), id, environment, granted, lifetime)
				if err != nil {
					return settings.PepperRefused(term.Unknown(err, "application", id), o.Config)
				}
				return p.showIssued(key)
			}, "key_pepper")
		},
	}
	cmd.Flags().StringVar(&app, "app", "", "ID of the application")
	term.AddEnvFlag(cmd, &env)
	cmd.Flags().StringVar(&scopes, "scopes", "", "all, or some of "+strings.Join(scopeNames(domain.AllScopes()), ","))
	cmd.Flags().StringVar(&expiresIn, "expires-in", "", "lifetime, such as 1s, 2h, 90d; without it the key does not expire")
	return cmd
}

func (p *Commands) keyRotate() *cobra.Command {
	return &cobra.Command{
		Use: "rotate ID", Short: "Make a successor; the old key works until it is revoked", Args: term.Takes("ID"),
		Example: "  waybill key rotate key_0198f3a27c4e7b1d9a6e5c2f10d3b847",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := term.ParseID(cmd, "a key", domain.PrefixAPIKey, args[0])
			if err != nil {
				return err
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				key, err := o.Tenants.RotateKey(cmd.Context(), p.OperatorHere(), id)
				if err != nil {
					return settings.PepperRefused(term.Unknown(err, "key", id), o.Config)
				}
				return p.showIssued(key)
			}, "key_pepper")
		},
	}
}

func (p *Commands) keyRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Stop a key for good; servers notice within two seconds", Args: term.Takes("ID"),
		Example: "  waybill key revoke key_0198f3a27c4e7b1d9a6e5c2f10d3b847",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := term.ParseID(cmd, "a key", domain.PrefixAPIKey, args[0])
			if err != nil {
				return err
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				key, err := o.Tenants.RevokeKey(cmd.Context(), p.OperatorHere(), id)
				if err != nil {
					return term.Unknown(err, "key", id)
				}
				v := showKey(key)
				return p.Show(v, func(w io.Writer) { keyHeader(w); v.row(w) })
			})
		},
	}
}

func (p *Commands) keyList() *cobra.Command {
	var app string
	var oldPepper bool
	cmd := &cobra.Command{
		Use: "list --app ID | --old-pepper", Short: "List the keys of an application, oldest first, revoked ones too", Args: term.Takes(),
		Long: "List the keys of an application, oldest first: all usable ones and, of the revoked and expired ones, the\n" +
			"newest " + strconv.Itoa(domain.MaxPastKeysListed) + " of each environment; or with --old-pepper the keys of all\n" +
			"applications that a change of the pepper still waits for, each until its next use.\n" +
			"When a key was used last is written every ten seconds; a request that a rate limit refused counts too.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if oldPepper && app != "" {
				return term.Usagef(cmd, "--app and --old-pepper are given, and one of them is meant")
			}
			if oldPepper {
				return p.withUseCases(cmd, func(o *UseCases) error {
					keys, err := o.Tenants.OldPepperKeys(cmd.Context())
					if err != nil {
						return err
					}
					return p.showKeys(keys)
				})
			}
			if err := term.Required(cmd, "app"); err != nil {
				return err
			}
			id, err := term.ParseID(cmd, "an application", domain.PrefixApplication, app)
			if err != nil {
				return err
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				keys, err := o.Tenants.Keys(cmd.Context(), id)
				if err != nil {
					return term.Unknown(err, "application", id)
				}
				return p.showKeys(keys)
			})
		},
	}
	cmd.Flags().StringVar(&app, "app", "", "ID of the application")
	cmd.Flags().BoolVar(&oldPepper, "old-pepper", false, "keys that are still under a previous pepper, of all applications")
	return cmd
}

func (p *Commands) showKeys(keys []domain.APIKey) error {
	views := make([]keyView, 0, len(keys))
	for _, k := range keys {
		views = append(views, showKey(k))
	}
	return p.Show(views, func(w io.Writer) {
		keyHeader(w)
		for _, v := range views {
			v.row(w)
		}
	})
}
