package mail

import (
	"waybill/domain"
	"waybill/ports"
)

// input is a mail with the company that sends it.
type input struct {
	ports.Letter
	company string
}

// kinds maps each kind of mail to its text.
var kinds = map[domain.MailKind]func(input) content{
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

// by returns who did it.
func by(name string) string {
	if name == "" {
		return "the delivery company"
	}
	return name
}

// place returns where the person has an account. Staff belong to no business.
func place(l input) string {
	if l.Business == "" {
		return "the " + l.company + " console"
	}
	return l.Business + " on " + l.company
}

// site returns the site that the mail leads to.
func site(l input) string {
	if l.Business == "" {
		return place(l)
	}
	return "the developer portal of " + l.Business
}

func whoHelps(l input) string {
	if l.Business == "" {
		return "an admin"
	}
	return "an owner of your business"
}

func whyMember(l input) string {
	return "You get this email because you are an owner or a developer of " + l.Business + "."
}

// once says how long a link works.
func once(l input) string {
	return "This link works only once, within " + lasting(l.LinkFor) + ". Anyone who has it can use it, so do not share it."
}

func invitation(l input) content {
	return content{
		Subject: "You are invited to " + place(l),
		Lines:   []string{"You are invited to " + site(l) + ". Your role is " + string(l.Role) + ".", once(l)},
		Facts:   []fact{{"Invited by", by(l.By)}},
		Action:  open("Accept the invitation", l.Link),
		After: []string{"If you already have an account on " + l.company + ", sign in to it. Nothing in it changes. If not, set a password in " +
			"Account after you open the link, so that you can sign in again without a link."},
		Why: "You get this email because your address was invited. If you did not expect it, ignore it: the invitation expires by itself.",
	}
}

const endsCredentials = "This is the first link that only you received. Using it ends any password, passkeys and sessions from before, because " +
	"someone else may have set them. Your memberships stay. Set your own password or passkey in Account afterwards."

func signInLink(l input) content {
	changes, after := "Nothing in your account changes.", []string(nil)
	if l.Ends {
		changes, after = endsCredentials, []string{endsCredentials}
	}
	if l.Accepts {
		return content{
			Subject: "Your sign-in link to accept the invitation to " + place(l),
			Lines: []string{
				"You already have an account on " + l.company + ". This link signs you in and accepts the invitation to " + site(l) +
					". Your role is " + string(l.Role) + ". " + changes,
				once(l),
			},
			Action: open("Accept the invitation", l.Link),
			Why: "You get this email because someone who has your invitation asked for a sign-in link. If it was not you, ignore it: nobody can " +
				"sign in without the link.",
		}
	}
	return content{
		Subject: "Your sign-in link for " + place(l),
		Lines:   []string{once(l)},
		Action:  open("Sign in", l.Link),
		After:   after,
		Why: "You get this email because someone asked for a sign-in link for your address. If it was not you, ignore it: nobody can sign in " +
			"without the link.",
	}
}

func newDevice(l input) content {
	return content{
		Subject: "New sign-in to your account at " + place(l),
		Lines:   []string{"Someone signed in to your account from a browser that you have not used before."},
		Facts:   []fact{{"Browser", l.Device}, {"When", when(l.At)}},
		Action:  open("See your sessions", l.Page),
		After:   []string{"If it was not you, sign that session out in Account, change your password there, and tell " + whoHelps(l) + "."},
		Why:     whyAccount,
	}
}

const whyAccount = "You get this email because it is your account."

// aboutAccount returns a notice about how the person signs in.
func aboutAccount(l input, what, line string, facts ...fact) content {
	if l.Device != "" {
		facts = append(facts, fact{"Browser", l.Device})
	}
	return content{
		Subject: what + " your account at " + place(l),
		Lines:   []string{line},
		Facts:   append(facts, fact{"When", when(l.At)}),
		Action:  open("Open your account", l.Page),
		After: []string{"If it was not you, ask for a sign-in link on the sign-in page. Then open Account, change your password, remove each " +
			"passkey that is not yours, and sign out everywhere else. Tell " + whoHelps(l) + "."},
		Why: whyAccount,
	}
}

func passkeyAdded(l input) content {
	return aboutAccount(l, "Passkey added to", "A passkey was added to your account. The device that has it can sign in as you.",
		fact{"Passkey", l.Passkey})
}

func passkeyRemoved(l input) content {
	return aboutAccount(l, "Passkey removed from",
		"A passkey was removed from your account. It can no longer be used to sign in. All your other sessions were signed out.",
		fact{"Passkey", l.Passkey})
}

func passwordSet(l input) content {
	return aboutAccount(l, "Password set for",
		"Your account had no password. A password was set. All your other sessions were signed out.")
}

func passwordChanged(l input) content {
	return aboutAccount(l, "Password changed for", "The password of your account was changed. All your other sessions were signed out.")
}

func identityConnected(l input) content {
	c := aboutAccount(l, "Single sign-on connected to",
		"A company account at the identity provider was connected to your account. It can sign in as you.")
	c.After = append(c.After, "You cannot disconnect it yourself. Ask an admin to disable your account until that is done.")
	return c
}

func credentialsRemoved(l input) content {
	c := aboutAccount(l, "Password and passkeys removed from",
		"The company's identity provider no longer gives you a role. Your password and passkeys were removed.")
	c.Action, c.After = nil, []string{"If you did not expect this, ask " + whoHelps(l) + "."}
	return c
}

func accountChanges(l input) content {
	c := aboutAccount(l, "More changes to",
		"There were several changes to your passkeys or password, or sign-ins from new browsers. This email covers one hour.")
	c.Facts = []fact{{"When", span(l)}}
	return c
}

func aboutKey(l input, subject, line string, more ...fact) content {
	return content{
		Subject: subject + " for " + l.Business,
		Lines:   []string{line},
		Facts: append([]fact{
			{"Application", l.App}, {"Environment", string(l.Env)}, {"Key", "ends in " + l.Key + " (" + string(l.KeyID) + ")"},
		}, more...),
		Action: open("See the keys", l.Page),
		Why:    whyMember(l),
	}
}

func made(l input) []fact { return []fact{{"By", by(l.By)}, {"When", when(l.At)}} }

func expiry(l input) []fact {
	if l.Expires == nil {
		return nil
	}
	return []fact{{"Expires", when(*l.Expires)}}
}

func keyCreated(l input) content {
	c := aboutKey(l, "API key created ("+string(l.Env)+")", "A new API key was created for "+l.App+".", append(made(l), expiry(l)...)...)
	c.After = []string{"If nobody in your team created it, revoke it. It then stops working within two seconds."}
	return c
}

func keyRotated(l input) content {
	c := aboutKey(l, "API key rotated ("+string(l.Env)+")", "An API key of "+l.App+" was rotated. The old key works until you revoke it.",
		append([]fact{{"New key", "ends in " + l.NextKey}}, made(l)...)...)
	c.After = []string{"Use the new key in your program. When the portal shows that the old key is not used any more, revoke it."}
	return c
}

func keyRevoked(l input) content {
	c := aboutKey(l, "API key revoked ("+string(l.Env)+")", "An API key of "+l.App+" was revoked. It has stopped working.", made(l)...)
	c.After = []string{"A program that still uses it gets the error 401 API_KEY_REVOKED. Give it another key."}
	return c
}

func keyExpires(l input) content {
	c := aboutKey(l, "API key expires soon ("+string(l.Env)+")",
		"An API key of "+l.App+" expires within seven days. It then stops working.", expiry(l)...)
	c.Action = open("Rotate the key", l.Page)
	c.After = []string{"Rotate it in the portal. The new key works at once. The old key works until it expires."}
	return c
}

// changed maps a change of a key to a word.
var changed = map[domain.MailKind]string{domain.MailKeyCreated: "created", domain.MailKeyRotated: "rotated", domain.MailKeyRevoked: "revoked"}

func keyChanges(l input) content {
	c := content{
		Subject: "More API keys changed for " + l.Business,
		Lines:   []string{"Several API keys were changed or expire soon. This email covers " + span(l) + "."},
		Action:  open("See the keys", l.Page),
		After: []string{"If nobody in your team did this, revoke the keys that were created. They stop working within two seconds. The portal " +
			"marks keys that expire within seven days."},
		Why: whyMember(l),
	}
	if len(l.Changes) > 0 {
		c.Lines = append(c.Lines, "These keys were changed. You may already have an email about some of them.")
	}
	for _, k := range l.Changes {
		c.Facts = append(c.Facts, fact{k.At.UTC().Format("15:04") + " UTC", string(k.Env) + " key ending in " + k.Key + " of " + named(k.App) + " " +
			changed[k.Kind] + " by " + by(named(k.By))})
	}
	if l.More {
		c.After = append([]string{"There were more changes. The audit log in the portal shows all of them."}, c.After...)
	}
	return c
}

func aboutEndpoint(l input, subject, line string, more ...fact) content {
	c := content{
		Subject: subject + " (" + l.Business + ")", Lines: []string{line},
		Facts: append([]fact{{"Endpoint", l.Host + " (" + string(l.Endpoint) + ")"}}, more...), Action: open("Open the endpoint", l.Page),
		Why: whyMember(l),
	}
	if l.Since != nil {
		c.Facts = append(c.Facts, fact{"Failing since", when(*l.Since)})
	}
	return c
}

func endpointFailing(l input) content {
	c := aboutEndpoint(l, "Webhook endpoint failing: "+l.Host,
		"No webhook has reached "+l.Host+" for more than a day. If this continues, we will disable the endpoint.")
	if l.Until != nil {
		c.Facts = append(c.Facts, fact{"Will be disabled", when(*l.Until)})
	}
	c.After = []string{"Fix the endpoint before then. As soon as it answers one webhook with a 2xx status, we send the waiting webhooks."}
	return c
}

func endpointDisabled(l input) content {
	line := "We stopped sending webhooks to " + l.Host + " because it failed for days."
	if l.Reason == domain.DisabledGone {
		line = "We stopped sending webhooks to " + l.Host + " because it answered 410 Gone."
	}
	c := aboutEndpoint(l, "Webhook endpoint disabled: "+l.Host, line, fact{"Disabled", when(l.At)})
	c.After = []string{
		"Events are kept. Fix the endpoint, then enable it with PATCH /webhook-endpoints/" + string(l.Endpoint) + ` {"enabled": true}. ` +
			"To get the events that it missed, call POST /webhook-endpoints/" + string(l.Endpoint) + "/recover.",
	}
	return c
}

func endpointRecovered(l input) content {
	if l.Enabled {
		c := aboutEndpoint(l, "Webhook endpoint enabled: "+l.Host,
			"The endpoint at "+l.Host+" was enabled again. It gets new webhooks from now on.", fact{"Enabled", when(l.At)})
		c.After = []string{"Events that it missed are not sent by themselves. To get them, call POST /webhook-endpoints/" + string(l.Endpoint) +
			"/recover."}
		return c
	}
	c := aboutEndpoint(l, "Webhook endpoint healthy again: "+l.Host,
		"The endpoint at "+l.Host+" answers again.", fact{"Recovered", when(l.At)})
	c.After = []string{"We are sending the waiting webhooks now. You do not have to do anything."}
	return c
}

func endpointChanges(l input) content {
	return content{
		Subject: "More webhook endpoints changed for " + l.Business,
		Lines:   []string{"Several webhook endpoints failed, recovered, or were disabled or enabled. This email covers " + span(l) + "."},
		Action:  open("See the endpoints", l.Page),
		Why:     whyMember(l),
	}
}
