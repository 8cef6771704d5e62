package httpapi

import (
	"testing"

	"waybill/domain"
)

func TestAnUnknownPathNamesTheOneThatWasMeant(t *testing.T) {
	t.Parallel()
	live, sandbox := &API{Options: Options{Environment: domain.Live}}, &API{Options: Options{Environment: domain.Sandbox}}
	for path, want := range map[string][2]string{
		"/v1//deliveries":                         {"/v1/deliveries", "a doubled or trailing slash"},
		"/v1/deliveries/":                         {"/v1/deliveries", "a doubled or trailing slash"},
		"//v1/deliveries":                         {"/v1/deliveries", "a doubled or trailing slash"},
		"/v1/v1/deliveries":                       {"/v1/deliveries", "/v1 twice"},
		"/v1/delivery":                            {"/v1/deliveries", "a singular noun"},
		"/v1/delivery/dlv_1/cancel":               {"/v1/deliveries/{delivery_id}/cancel", "a singular noun"},
		"/v1/recipient-address/x":                 {"/v1/recipient-addresses/{address_id}", "a singular noun"},
		"/v1/pickup-location/":                    {"/v1/pickup-locations", "a singular noun"},
		"/v1/test-helper/deliveries/x/simulation": {"/v1/test-helpers/deliveries/{delivery_id}/simulation", "a singular noun"},
		"/v1/deliveries/x/":                       {"/v1/deliveries/{delivery_id}", "a doubled or trailing slash"},
		"/v1/deliveries//events":                  {"/v1/deliveries/{delivery_id}/events", "an empty ID"},
		"/v1/recipients//addresses/":              {"/v1/recipients/{recipient_id}/addresses", "an empty ID"},
		"/v1/deliveries//x":                       {"/v1/deliveries/{delivery_id}", "a doubled or trailing slash"},
		"/v1/delivery//cancel":                    {"/v1/deliveries/{delivery_id}/cancel", "a singular noun"},
		"/v1//v1/deliveries//dlv_1":               {"/v1/deliveries/{delivery_id}", "/v1 twice"},
		"/v1/nothing/":                            {}, "/v1/nothing": {}, "/": {}, "": {}, "/deliveries/": {}, "/v1/v1": {}, "/v2//deliveries": {}, "//": {},
	} {
		if meant, slip := sandbox.meantPath(path); meant != want[0] || slip != want[1] {
			t.Errorf("%s: %q, %q, want %q", path, meant, slip, want)
		}
	}
	if meant, _ := live.meantPath("/v1/webhook-listener"); meant != "" {
		t.Errorf("live names %s, which it has not", meant)
	}
}
