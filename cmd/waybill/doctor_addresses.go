package main

// addresses looks whether those who get a link can open it.
func (d *diagnosis) addresses() {
	const check = "addresses"
	public := publicURLsOf(d.c, originOf(d.c.LiveAddr), originOf(d.c.SandboxAddr))
	message, fix := selfish(public)
	if message != "" && forOthers(d.c, d.dir) {
		d.warn(check, message, fix)
		return
	}
	d.ok(check, "tracking links begin with "+public.tracking)
}
