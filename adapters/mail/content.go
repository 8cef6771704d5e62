package mail

import (
	"waybill/domain"
	"waybill/ports"
)

// kinds is what each kind of mail says.
var kinds = map[domain.MailKind]func(ports.Letter) content{
	domain.MailInvitation: invitation,
	domain.MailSignInLink: signInLink,
	domain.MailNewDevice:  newDevice,

	domain.MailPasskeyAdded:       passkeyAdded,
	domain.MailPasskeyRemoved:     passkeyRemoved,
	domain.MailPasswordSet:        passwordSet,
	domain.MailPasswordChanged:    passwordChanged,
	domain.MailIdentityConnected:  identityConnected,
	domain.MailCredentialsRemoved: credentialsRemoved,
	domain.MailAccountChanges:     accountChanges,

	domain.MailKeyCreated: keyCreated,
	domain.MailKeyRotated: keyRotated,
	domain.MailKeyRevoked: keyRevoked,
	domain.MailKeyExpires: keyExpires,
	domain.MailKeyChanges: keyChanges,

	domain.MailEndpointFailing:   endpointFailing,
	domain.MailEndpointDisabled:  endpointDisabled,
	domain.MailEndpointRecovered: endpointRecovered,
	domain.MailEndpointChanges:   endpointChanges,
}

func by(l ports.Letter) string {
	if l.By == "" {
		return "the delivery company"
	}
	return l.By
}

func place(l ports.Letter) string {
	if l.Business == "" {
		return "the delivery company"
	}
	return l.Business
}

// site is what the mail leads to: the staff of the delivery company is of no business.
func site(l ports.Letter) string {
	if l.Business == "" {
		return "console"
	}
	return "developer portal"
}

func whoHelps(l ports.Letter) string {
	if l.Business == "" {
		return "an admin"
	}
	return "an owner of your business"
}

func whyMember(l ports.Letter) string {
	return "You get this because you are an owner or a developer of " + place(l) + "."
}

func invitation(l ports.Letter) content {
	return content{
		Subject: "Your invitation to " + place(l) + " on Waybill",
		Lines: []string{
			"You are invited to the " + site(l) + " of " + place(l) + ", as " + string(l.Role) + ".",
			"This link lets you in once, within " + lasting(l.LinkFor) + ". Whoever has it can use it: do not pass it on.",
		},
		Facts:  []fact{{"Invited by", by(l)}},
		Action: open("Open your invitation", l.Link),
		After: []string{"If you have an account on Waybill already, you sign in to it, and nothing of it changes. Otherwise set a password in " +
			"Account afterwards, so that you need no link the next time."},
		Why: "You get this because your address was invited. If you did not expect that, do nothing: the invitation ends by itself.",
	}
}

func signInLink(l ports.Letter) content {
	if l.Accepts {
		return content{
			Subject: "Your link to accept the invitation to " + place(l) + " on Waybill",
			Lines: []string{
				"You have an account on Waybill already. This link signs you in to it and accepts the invitation to the " + site(l) + " of " +
					place(l) + ", as " + string(l.Role) + ". Nothing of your account changes.",
				"It works once, within " + lasting(l.LinkFor) + ". Whoever has it can use it: do not pass it on.",
			},
			Action: open("Accept the invitation", l.Link),
			Why: "You get this because somebody who has your invitation asked for a sign-in link. If it was not you, do nothing: without the " +
				"link nobody gets in by it.",
		}
	}
	return content{
		Subject: "Your link to sign in to " + place(l) + " on Waybill",
		Lines:   []string{"This link lets you in once, within " + lasting(l.LinkFor) + ". Whoever has it can use it: do not pass it on."},
		Action:  open("Sign in", l.Link),
		Why: "You get this because a link was asked for with your address. If it was not you, do nothing: without the link nobody gets " +
			"in by it.",
	}
}

func newDevice(l ports.Letter) content {
	return content{
		Subject: "New sign-in to " + place(l) + " on Waybill",
		Lines:   []string{"You signed in from a browser that you have not used before."},
		Facts:   []fact{{"Browser", l.Device}, {"When", when(l.At)}},
		Action:  open("See your sessions", l.Page),
		After:   []string{"If it was not you: end the session in Account, set another password there, and tell " + whoHelps(l) + "."},
		Why:     whyAccount,
	}
}

const whyAccount = "You get this because it is your account."

// aboutAccount returns a notice about what lets the person in.
func aboutAccount(l ports.Letter, what, line string, facts ...fact) content {
	if l.Device != "" {
		facts = append(facts, fact{"Browser", l.Device})
	}
	return content{
		Subject: what + " your account at " + place(l) + " on Waybill",
		Lines:   []string{line},
		Facts:   append(facts, fact{"When", when(l.At)}),
		Action:  open("Open your account", l.Page),
		After: []string{"If it was not you: ask for a sign-in link on the sign-in page. Then, in Account, set another password, remove each passkey " +
			"that you do not know, and end all other sessions. Tell " + whoHelps(l) + "."},
		Why: whyAccount,
	}
}

func passkeyAdded(l ports.Letter) content {
	return aboutAccount(l, "A passkey was added to", "A passkey was added to your account. The device that has it can sign in as you.",
		fact{"Passkey", l.Passkey})
}

func passkeyRemoved(l ports.Letter) content {
	return aboutAccount(l, "A passkey was removed from",
		"A passkey was removed from your account. It no longer signs you in, and all other sessions have ended.", fact{"Passkey", l.Passkey})
}

func passwordSet(l ports.Letter) content {
	return aboutAccount(l, "A password was set for", "Your account had no password, and now it has one. All other sessions have ended.")
}

func passwordChanged(l ports.Letter) content {
	return aboutAccount(l, "The password was changed for", "The password of your account was changed. All other sessions have ended.")
}

func identityConnected(l ports.Letter) content {
	c := aboutAccount(l, "Single sign-on was connected to",
		"An account at the identity provider of the delivery company was connected to your account. It can sign in as you.")
	c.After = append(c.After, "You cannot disconnect it yourself: ask an admin to disable your account until that is done.")
	return c
}

func credentialsRemoved(l ports.Letter) content {
	c := aboutAccount(l, "The password and passkeys were removed from",
		"The identity provider of the delivery company no longer gives you a role, so your password and passkeys were removed.")
	c.Action, c.After = nil, []string{"If you did not expect that, ask " + whoHelps(l) + "."}
	return c
}

func accountChanges(l ports.Letter) content {
	c := aboutAccount(l, "There were more changes to",
		"There were more changes to your passkeys or passwords, or more sign-ins from new browsers, than we send single emails about. "+
			"This email joins those of one hour.")
	c.Facts = []fact{{"When", span(l)}}
	return c
}

func aboutKey(l ports.Letter, subject, line string, more ...fact) content {
	return content{
		Subject: place(l) + ": " + subject,
		Lines:   []string{line},
		Facts: append([]fact{
			{"Application", l.App}, {"Environment", string(l.Env)}, {"Key", "ends in " + l.Key + " (" + string(l.KeyID) + ")"},
		}, more...),
		Action: open("See the keys", l.Page),
		Why:    whyMember(l),
	}
}

func made(l ports.Letter) []fact { return []fact{{"By", by(l)}, {"When", when(l.At)}} }

func expiry(l ports.Letter) []fact {
	if l.Expires == nil {
		return nil
	}
	return []fact{{"Expires", when(*l.Expires)}}
}

func keyCreated(l ports.Letter) content {
	c := aboutKey(l, "a "+string(l.Env)+" key was created", "A new API key was created for "+l.App+".", append(made(l), expiry(l)...)...)
	c.After = []string{"If nobody of you asked for it, revoke it: it stops working within two seconds."}
	return c
}

func keyRotated(l ports.Letter) content {
	c := aboutKey(l, "a "+string(l.Env)+" key was rotated", "An API key of "+l.App+" was rotated. The old one works until you revoke it.",
		append([]fact{{"New key", "ends in " + l.NextKey}}, made(l)...)...)
	c.After = []string{"Put the new key into your program, see in the portal that the old one is not used any more, then revoke it."}
	return c
}

func keyRevoked(l ports.Letter) content {
	c := aboutKey(l, "a "+string(l.Env)+" key was revoked", "An API key of "+l.App+" was revoked. It works no more.", made(l)...)
	c.After = []string{"A program that still uses it gets 401 API_KEY_REVOKED. Give it another key."}
	return c
}

func keyExpires(l ports.Letter) content {
	c := aboutKey(l, "a "+string(l.Env)+" key expires soon",
		"An API key of "+l.App+" expires within seven days. From then on it works no more.", expiry(l)...)
	c.Action = open("Rotate the key", l.Page)
	c.After = []string{"Rotate it in the portal: the new key works at once, and the old one until it expires."}
	return c
}

// changed is what happened to a key, in a word.
var changed = map[domain.MailKind]string{domain.MailKeyCreated: "created", domain.MailKeyRotated: "rotated", domain.MailKeyRevoked: "revoked"}

func keyChanges(l ports.Letter) content {
	c := content{
		Subject: place(l) + ": more changes of API keys",
		Lines:   []string{"More API keys were changed, or expire soon, than we send single emails about. This email joins those of " + span(l) + "."},
		Action:  open("See the keys", l.Page),
		After: []string{"If nobody of you did this, revoke the keys that were created: they stop working within two seconds. Keys that expire within " +
			"seven days are marked in the portal."},
		Why: whyMember(l),
	}
	if len(l.Changes) > 0 {
		c.Lines = append(c.Lines, "These keys were changed. Some of them you were told of at once.")
	}
	for _, k := range l.Changes {
		c.Facts = append(c.Facts, fact{k.At.UTC().Format("15:04") + " UTC", string(k.Env) + " key ending in " + k.Key + " of " + named(k.App) + " " +
			changed[k.Kind] + " by " + by(ports.Letter{By: named(k.By)})})
	}
	if l.More {
		c.After = append([]string{"There were more. The audit log in the portal has all of them."}, c.After...)
	}
	return c
}

func aboutEndpoint(l ports.Letter, subject, line string, more ...fact) content {
	c := content{
		Subject: place(l) + ": " + subject, Lines: []string{line},
		Facts: append([]fact{{"Endpoint", l.Host + " (" + string(l.Endpoint) + ")"}}, more...), Action: open("Open the portal", l.Page),
		Why: whyMember(l),
	}
	if l.Since != nil {
		c.Facts = append(c.Facts, fact{"Failing since", when(*l.Since)})
	}
	return c
}

func endpointFailing(l ports.Letter) content {
	c := aboutEndpoint(l, "webhooks to "+l.Host+" will be switched off",
		"No webhook has arrived at "+l.Host+" for more than a day. If that goes on, we switch the endpoint off.")
	if l.Until != nil {
		c.Facts = append(c.Facts, fact{"Switched off from", when(*l.Until)})
	}
	c.After = []string{"Repair the endpoint before that: one webhook that is answered with 2xx is enough. What waits is sent by itself then."}
	return c
}

func endpointDisabled(l ports.Letter) content {
	line := "We send no webhooks to " + l.Host + " any more: it has failed for days."
	if l.Reason == domain.DisabledGone {
		line = "We send no webhooks to " + l.Host + " any more: it answered 410 Gone."
	}
	c := aboutEndpoint(l, "webhooks to "+l.Host+" are off", line, fact{"Disabled", when(l.At)})
	c.After = []string{
		"Events are kept. Repair the endpoint, enable it with PATCH /webhook-endpoints/" + string(l.Endpoint) + ` {"enabled": true}, ` +
			"and recover what it missed with POST /webhook-endpoints/" + string(l.Endpoint) + "/recover.",
	}
	return c
}

func endpointRecovered(l ports.Letter) content {
	if l.Enabled {
		c := aboutEndpoint(l, "webhooks to "+l.Host+" are on again",
			"The endpoint at "+l.Host+" was enabled again, and gets webhooks from now on.", fact{"Enabled", when(l.At)})
		c.After = []string{"What it missed is not sent by itself: recover it with POST /webhook-endpoints/" + string(l.Endpoint) + "/recover."}
		return c
	}
	c := aboutEndpoint(l, "webhooks to "+l.Host+" arrive again",
		"The endpoint at "+l.Host+" answers again after a time in which webhooks to it were held back.", fact{"Recovered", when(l.At)})
	c.After = []string{"What waited is being sent now. There is nothing that you have to do."}
	return c
}

func endpointChanges(l ports.Letter) content {
	return content{
		Subject: place(l) + ": more changes of webhook endpoints",
		Lines: []string{"More webhook endpoints were disabled, enabled, failing or well again than we send single emails about. This email joins those of " +
			span(l) + "."},
		Action: open("See the endpoints", l.Page),
		Why:    whyMember(l),
	}
}
