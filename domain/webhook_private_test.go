package domain

import (
	"strings"
	"testing"
)

func TestADeveloperIsToldWhenPrivateAddressesAreTaken(t *testing.T) {
	t.Parallel()
	for url, private := range map[string]bool{
		"http://127.0.0.1:3000/hooks": true, "http://localhost:3000/hooks": true, "https://192.168.0.7/hooks": true,
		"https://[::ffff:10.0.0.1]/hooks": true,
		"https://93.184.216.34/hooks":     false, "https://intranet/hooks": false,
	} {
		refusal := CheckWebhookURL(url, Sandbox, false)
		if refusal == nil || len(refusal.Fields) != 1 || strings.Contains(refusal.Fields[0].Message, "server for development") != private ||
			strings.Contains(refusal.Message, "run `waybill listen`") != private {
			t.Errorf("%s: %+v", url, refusal)
		}
		if refusal := CheckWebhookURL(url, Sandbox, true); refusal != nil {
			t.Errorf("%s where it is allowed: %v", url, refusal)
		}
	}
}
