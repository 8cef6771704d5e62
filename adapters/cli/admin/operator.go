package admin

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/domain"
)

// issuedOperatorView is a token with its secret. It is shown only once.
type issuedOperatorView struct {
	ID        string  `json:"id"`
	Token     string  `json:"token"`
	Name      string  `json:"name"`
	Kind      string  `json:"kind"`
	ExpiresAt *string `json:"expires_at"`
}

// operatorView is a token without its secret.
type operatorView struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Kind       string  `json:"kind"`
	LastFour   string  `json:"last_four"`
	CreatedAt  string  `json:"created_at"`
	ExpiresAt  *string `json:"expires_at"`
	RevokedAt  *string `json:"revoked_at"`
	LastUsedAt *string `json:"last_used_at"`
}

func showOperator(t domain.OperatorToken) operatorView {
	return operatorView{
		ID: string(t.ID), Name: t.Name, Kind: string(t.Kind), LastFour: t.LastFour, CreatedAt: domain.FormatTime(t.CreatedAt),
		ExpiresAt: term.Moment(t.ExpiresAt), RevokedAt: term.Moment(t.RevokedAt), LastUsedAt: term.Moment(t.LastUsedAt),
	}
}

func (v operatorView) row(w io.Writer) {
	term.Row(w, v.ID, v.Name, v.Kind, "..."+v.LastFour, v.CreatedAt, term.Dash(v.ExpiresAt), term.Dash(v.RevokedAt), term.Dash(v.LastUsedAt))
}

func operatorHeader(w io.Writer) {
	term.Row(w, "ID", "NAME", "KIND", "TOKEN", "CREATED", "EXPIRES", "REVOKED", "LAST USED")
}

func (p *Commands) operator() *cobra.Command {
	return term.Group("operator", "Tokens of the operations API: create, list, revoke", p.operatorCreate(), p.operatorList(),
		p.operatorRevoke())
}

// neverExpires is the value of --expires-in for a token that does not expire.
const neverExpires = "never"

func (p *Commands) operatorCreate() *cobra.Command {
	var name, kind, expiresIn string
	cmd := &cobra.Command{
		Use: "create --name NAME", Short: "Make a token for the operations API; it is shown this once",
		Long: "Make a token for the operations API, for one person or one program: the audit log names it.\n" +
			"What it opens is its kind: admin everything, dispatcher reading deliveries and advancing them,\n" +
			"read-only reading everything. The token is shown this once, and expires after 90 days unless\n" +
			"--expires-in says otherwise; make its successor before.",
		Example: `  waybill operator create --name "Dispatch system" --kind dispatcher
  waybill operator create --name "Ama Mensah" --expires-in 8h`,
		Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := term.Required(cmd, "name"); err != nil {
				return err
			}
			if !slices.Contains(domain.OperatorKinds(), domain.OperatorKind(kind)) {
				return term.Usagef(cmd, "--kind is %q; it is %s", kind, strings.Join(operatorKinds(), ", "))
			}
			var lifetime *time.Duration
			if expiresIn != neverExpires {
				d, err := domain.ParseLifetime(expiresIn)
				if err != nil {
					return term.Usagef(cmd, "--expires-in is %q; %v, or %s", expiresIn, err, neverExpires)
				}
				lifetime = &d
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				t, err := o.Tenants.IssueOperatorToken(cmd.Context(), p.OperatorHere(), name, domain.OperatorKind(kind), lifetime)
				if err != nil {
					return settings.PepperRefused(err, o.Config)
				}
				v := issuedOperatorView{ID: string(t.ID), Token: t.Secret, Name: t.Name, Kind: string(t.Kind), ExpiresAt: term.Moment(t.ExpiresAt)}
				return p.Show(v, func(w io.Writer) {
					term.Row(w, "ID", v.ID)
					term.Row(w, "Token", v.Token+"   (not shown again: store it now)")
					term.Row(w, "Name", v.Name)
					term.Row(w, "Kind", v.Kind)
					term.Row(w, "Expires", term.Dash(v.ExpiresAt))
				})
			}, "key_pepper")
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "whose it is, "+domain.NameRule.String())
	cmd.Flags().StringVar(&kind, "kind", string(domain.OperatorAdmin), "what it opens: "+strings.Join(operatorKinds(), ", "))
	cmd.Flags().StringVar(&expiresIn, "expires-in", "90d", "lifetime, such as 1s, 2h, 90d; or "+neverExpires)
	return cmd
}

func operatorKinds() []string {
	var names []string
	for _, kind := range domain.OperatorKinds() {
		names = append(names, string(kind))
	}
	return names
}

func (p *Commands) operatorList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List all operator tokens, oldest first, revoked ones too", Args: term.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withUseCases(cmd, func(o *UseCases) error {
				tokens, err := o.Tenants.OperatorTokens(cmd.Context())
				if err != nil {
					return err
				}
				views := make([]operatorView, 0, len(tokens))
				for _, t := range tokens {
					views = append(views, showOperator(t))
				}
				if message, fix := term.Endless(tokens); message != "" {
					term.Row(p.Stderr, "warning: "+message+"; "+fix)
				}
				return p.Show(views, func(w io.Writer) {
					operatorHeader(w)
					for _, v := range views {
						v.row(w)
					}
				})
			})
		},
	}
}

func (p *Commands) operatorRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Stop an operator token for good; servers notice at once", Args: term.Takes("ID"),
		Example: "  waybill operator revoke opr_0198f3a27c4e7b1d9a6e5c2f10d3b847",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := term.ParseID(cmd, "an operator token", domain.PrefixOperatorToken, args[0])
			if err != nil {
				return err
			}
			return p.withUseCases(cmd, func(o *UseCases) error {
				t, err := o.Tenants.RevokeOperatorToken(cmd.Context(), p.OperatorHere(), id)
				if err != nil {
					return term.Unknown(err, "operator token", id)
				}
				v := showOperator(t)
				return p.Show(v, func(w io.Writer) { operatorHeader(w); v.row(w) })
			})
		},
	}
}
