package domain

// PaymentType says whether the rider collects money for the goods.
type PaymentType string

// The payment types.
const (
	CashOnDelivery PaymentType = "cod"
	DeliveryOnly   PaymentType = "delivery_only"
)

// PaymentTypes lists every payment type.
func PaymentTypes() []PaymentType { return []PaymentType{CashOnDelivery, DeliveryOnly} }

// Payment is what the rider collects. GoodsValue is positive for CashOnDelivery, and nil for every
// other Type.
type Payment struct {
	Type       PaymentType
	GoodsValue *Money
}

// Valid returns COD_GOODS_VALUE_REQUIRED for cash on delivery without an amount.
func (p Payment) Valid() error {
	if p.Type == CashOnDelivery && (p.GoodsValue == nil || p.GoodsValue.Minor <= 0) {
		is := ""
		if p.GoodsValue != nil {
			is = "; it is " + p.GoodsValue.Decimal()
		}
		return &Error{Kind: KindInvalid, Code: CodeCODGoodsValueRequired,
			Message: "payment.type cod needs payment.goods_value over 0: the amount the rider collects" + is + "."}
	}
	return nil
}
