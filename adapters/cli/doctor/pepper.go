package doctor

import (
	"context"

	"waybill/adapters/cli/term"
	"waybill/application/access"
	"waybill/domain"
)

// pepperChange reports the progress of a pepper rotation.
func (d *diagnosis) pepperChange(ctx context.Context, tenants *access.Tenants) {
	const check = "key pepper"
	uses, err := tenants.OldPeppers(ctx)
	if err != nil {
		d.failed(check, err)
		return
	}
	left := domain.SumPepperUses(uses)
	switch {
	case left.Keys+left.Tokens > 0:
		used := "never used"
		if left.LastUsedAt != nil {
			used = "last used at " + domain.FormatTime(*left.LastUsedAt)
		}
		d.warn(check, term.Counted(left.Keys, "API key")+" and "+term.Counted(left.Tokens, "operator token")+
			" are still under a previous pepper, "+used,
			"leave WAYBILL_KEY_PEPPER_PREVIOUS as it is: each moves within about a minute of its next use; revoke what is not used any more, "+
				"waybill key list --old-pepper lists the keys")
	case len(d.c.KeyPepperPrevious) > 0:
		changed, err := tenants.PepperChanged(ctx)
		switch {
		case err != nil:
			d.failed(check, err)
		case changed:
			d.ok(check, "no API key and no operator token is left under WAYBILL_KEY_PEPPER_PREVIOUS; cursors are not counted, so leave it until "+
				"30 days after the last process got the new one")
		default:
			d.ok(check, "the pepper of the database is still the same: no process has begun with another; leave WAYBILL_KEY_PEPPER_PREVIOUS as it "+
				"is and go on with the change (waybill config --docs)")
		}
	default:
		d.ok(check, "all keys are under WAYBILL_KEY_PEPPER")
	}
}
