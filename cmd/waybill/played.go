package main

import (
	"waybill/adapters/docsite"
	"waybill/adapters/webhooksend/httpsender"
	"waybill/ports"
)

// integrator are the commands that play an integrator against a sandbox.
func (p *commands) integrator() *integratorCommands {
	return &integratorCommands{commandLine: p.commandLine, docs: docsite.Prefix, sender: func() (ports.WebhookSender, func()) {
		s := httpsender.New(httpsender.Options{AllowPrivate: true})
		return s, s.Close
	}}
}
