package main

import (
	"io"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"waybill/adapters/opsapi"
	"waybill/application/operations"
	"waybill/application/pickuplocations"
	"waybill/application/tenancy"
	"waybill/domain"
	"waybill/ports"
)

// failedOperatorsPerAddress is how often an address may present no valid
// operator token in a minute.
const failedOperatorsPerAddress = 60

func newFailedOperators() tenancy.FailedOperators {
	return tenancy.FailedOperators{Limit: failedOperatorsPerAddress, Window: time.Minute}
}

// newManagement is what the operations API of a server works with.
func newManagement(o *tenancy.Operators, t *tenancy.Tenants, l *pickuplocations.PickupLocations, p *operations.Operations,
	n ports.Normalizer, ids ports.Identifiers, key cursorKey, urls publicURLs,
) *opsapi.Management {
	return &opsapi.Management{
		Operators: o, Tenants: t, PickupLocations: l, Operations: p,
		Normalizer: n, Identifiers: ids, CursorKey: key, TrackingBaseURL: urls.tracking,
	}
}

// operatorHere is who runs this command, as the audit log names it.
func (p *program) operatorHere() domain.Operator {
	name := "unknown"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	} else if login := p.variable("USER"); login != "" {
		name = login
	}
	return domain.Operator{Name: "command:" + name}
}

// issuedOperatorView is a token at the only moment its secret is shown.
type issuedOperatorView struct {
	ID        string  `json:"id"`
	Token     string  `json:"token"`
	Name      string  `json:"name"`
	ExpiresAt *string `json:"expires_at"`
}

// operatorView is what is known of a token afterwards.
type operatorView struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	LastFour   string  `json:"last_four"`
	CreatedAt  string  `json:"created_at"`
	ExpiresAt  *string `json:"expires_at"`
	RevokedAt  *string `json:"revoked_at"`
	LastUsedAt *string `json:"last_used_at"`
}

func showOperator(t domain.OperatorToken) operatorView {
	return operatorView{
		ID: string(t.ID), Name: t.Name, LastFour: t.LastFour, CreatedAt: domain.FormatTime(t.CreatedAt),
		ExpiresAt: moment(t.ExpiresAt), RevokedAt: moment(t.RevokedAt), LastUsedAt: moment(t.LastUsedAt),
	}
}

func (v operatorView) row(w io.Writer) {
	row(w, v.ID, v.Name, "..."+v.LastFour, v.CreatedAt, dash(v.ExpiresAt), dash(v.RevokedAt), dash(v.LastUsedAt))
}

func operatorHeader(w io.Writer) {
	row(w, "ID", "NAME", "TOKEN", "CREATED", "EXPIRES", "REVOKED", "LAST USED")
}

func (p *program) operator() *cobra.Command {
	return group("operator", "Tokens of the operations API: create, list, revoke", p.operatorCreate(), p.operatorList(), p.operatorRevoke())
}

func (p *program) operatorCreate() *cobra.Command {
	var name, expiresIn string
	cmd := &cobra.Command{
		Use: "create --name NAME", Short: "Make a token for the operations API; it is shown this once",
		Long: "Make a token for the operations API, for one person or one program: the audit log names it.\n" +
			"It opens all of that API. The token is shown this once.",
		Example: `  waybill operator create --name "Dispatch system"
  waybill operator create --name "Ama Mensah" --expires-in 90d`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := required(cmd, "name"); err != nil {
				return err
			}
			var lifetime *time.Duration
			if cmd.Flag("expires-in").Changed {
				d, err := domain.ParseLifetime(expiresIn)
				if err != nil {
					return usagef(cmd, "--expires-in is %q; %v", expiresIn, err)
				}
				lifetime = &d
			}
			return p.inOffice(cmd, func(o *office) error {
				t, err := o.tenants.IssueOperatorToken(cmd.Context(), p.operatorHere(), name, lifetime)
				if err != nil {
					return pepperRefused(err, o.config)
				}
				v := issuedOperatorView{ID: string(t.ID), Token: t.Secret, Name: t.Name, ExpiresAt: moment(t.ExpiresAt)}
				return p.show(v, func(w io.Writer) {
					row(w, "ID", v.ID)
					row(w, "Token", v.Token+"   (not shown again: store it now)")
					row(w, "Name", v.Name)
					row(w, "Expires", dash(v.ExpiresAt))
				})
			}, "key_pepper")
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "whose it is, 1 to 128 characters")
	cmd.Flags().StringVar(&expiresIn, "expires-in", "", "lifetime, such as 1s, 2h, 90d; without it the token does not expire")
	return cmd
}

func (p *program) operatorList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List all operator tokens, oldest first, revoked ones too", Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.inOffice(cmd, func(o *office) error {
				tokens, err := o.tenants.OperatorTokens(cmd.Context())
				if err != nil {
					return err
				}
				views := make([]operatorView, 0, len(tokens))
				for _, t := range tokens {
					views = append(views, showOperator(t))
				}
				return p.show(views, func(w io.Writer) {
					operatorHeader(w)
					for _, v := range views {
						v.row(w)
					}
				})
			})
		},
	}
}

func (p *program) operatorRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Stop an operator token for good; servers notice at once", Args: takes("ID"),
		Example: "  waybill operator revoke opr_0198f3a27c4e7b1d9a6e5c2f10d3b847",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID(cmd, "an operator token", domain.PrefixOperatorToken, args[0])
			if err != nil {
				return err
			}
			return p.inOffice(cmd, func(o *office) error {
				t, err := o.tenants.RevokeOperatorToken(cmd.Context(), p.operatorHere(), id)
				if err != nil {
					return unknown(err, "operator token", id)
				}
				v := showOperator(t)
				return p.show(v, func(w io.Writer) { operatorHeader(w); v.row(w) })
			})
		},
	}
}
