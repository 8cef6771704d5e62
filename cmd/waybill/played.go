package main

import (
	"waybill/adapters/cli/integrator"
	"waybill/adapters/docsite"
	"waybill/adapters/webhooksend/httpsender"
	"waybill/ports"
)

// integrator are the commands that play an integrator against a sandbox.
func (p *commands) integrator() *integrator.Commands {
	return &integrator.Commands{CommandLine: p.CommandLine, Docs: docsite.Prefix, Sender: func() (ports.WebhookSender, func()) {
		s := httpsender.New(httpsender.Options{AllowPrivate: true})
		return s, s.Close
	}}
}
