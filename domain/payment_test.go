package domain_test

import (
	"testing"

	"waybill/domain"
)

func TestCashOnDeliveryNeedsAnAmount(t *testing.T) {
	t.Parallel()
	amount := func(minor int64) *domain.Money { return &domain.Money{Minor: minor, Currency: "GHS"} }
	for name, c := range map[string]struct {
		payment domain.Payment
		valid   bool
	}{
		"cod with an amount":      {domain.Payment{Type: "cod", GoodsValue: amount(1)}, true},
		"cod without":             {domain.Payment{Type: "cod"}, false},
		"cod with zero":           {domain.Payment{Type: "cod", GoodsValue: amount(0)}, false},
		"cod with less than zero": {domain.Payment{Type: "cod", GoodsValue: amount(-1)}, false},
		"delivery only":           {domain.Payment{Type: "delivery_only"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.payment.Valid()
			if c.valid {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			asError(t, err, domain.KindInvalid, "COD_GOODS_VALUE_REQUIRED")
		})
	}
}
