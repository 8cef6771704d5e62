package doctor

import (
	"waybill/adapters/cli/settings"
)

// addresses checks that the recipients of links can open them.
func (d *diagnosis) addresses() {
	const check = "addresses"
	public := settings.PublicURLsOf(d.c, settings.OriginOf(d.c.LiveAddr), settings.OriginOf(d.c.SandboxAddr))
	message, fix := settings.OnlyLocal(d.c, public)
	if message != "" && (settings.ForOthers(d.c, d.dir) || !settings.OnThisMachine(public.Live) || !settings.OnThisMachine(public.Sandbox)) {
		d.warn(check, message, fix)
		return
	}
	d.ok(check, "tracking links begin with "+public.Tracking)
}
