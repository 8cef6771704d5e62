// Command generators books, replays, lists over pages, reads and cancels by the client that
// oapi-codegen makes. API_URL is the sandbox or a later version of it (later.mjs).
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"generators/oapi"
)

var ctx = context.Background()

func main() {
	log.SetFlags(0)
	key := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("WAYBILL_TEST_KEY"))
		return nil
	}
	c, err := oapi.NewClientWithResponses(os.Getenv("API_URL"), oapi.WithRequestEditorFn(key))
	check(err == nil, "the client: %v", err)

	once := name()
	first := book(c, once)
	check(book(c, once).Id == first.Id, "the replay is another delivery")
	check(*first.Payment.GoodsValue == 654321.55, "the rider collects %v", *first.Payment.GoodsValue)
	book(c, name())

	limit, order := int32(1), oapi.Desc
	params, found := &oapi.ListDeliveriesParams{Limit: &limit, Order: &order}, false
	for pages := 0; pages < 3 && !found; pages++ {
		page, err := c.ListDeliveriesWithResponse(ctx, params)
		check(err == nil && page.JSON200 != nil, "list: %v", err)
		for _, d := range page.JSON200.Data {
			found = found || d.Id == first.Id
		}
		params.Cursor = page.JSON200.Meta.NextCursor
	}
	check(found, "the pages lack the delivery")

	read, err := c.GetDeliveryWithResponse(ctx, first.Id, nil)
	check(err == nil && read.JSON200 != nil && read.JSON200.Data.Status == oapi.DeliveryStatusBooked, "read: %v", err)
	events, err := c.ListDeliveryEventsWithResponse(ctx, first.Id, nil)
	check(err == nil && events.JSON200 != nil, "events: %v", err)
	missing, err := c.GetDeliveryWithResponse(ctx, "dlv_00000000000000000000000000000000", nil)
	check(err == nil && missing.JSON404 != nil, "read nothing: %v", err)
	cancelled, err := c.CancelDeliveryWithResponse(ctx, first.Id, nil)
	check(err == nil && cancelled.JSON200 != nil && cancelled.JSON200.Data.Status == oapi.DeliveryStatusCancelled, "cancel: %v", err)

	want := "delivery.created NOT_FOUND"
	if os.Getenv("API_IS_LATER") != "" {
		want = "delivery.weighed NOT_YET_KNOWN"
	}
	got := fmt.Sprint(events.JSON200.Data[0].Type, " ", missing.JSON404.Error.Code)
	check(got == want, "came %s, want %s", got, want)
	fmt.Println("  oapi-codegen: ok with", got)
}

func book(c *oapi.ClientWithResponses, key string) oapi.Delivery {
	value, pickup := oapi.Payment{}, os.Getenv("WAYBILL_PICKUP_ID")
	check(value.FromPayment0(oapi.Payment0{Type: "cod", GoodsValue: 654321.55}) == nil, "the payment")
	made, err := c.CreateDeliveryWithResponse(ctx, &oapi.CreateDeliveryParams{IdempotencyKey: key}, oapi.DeliveryRequest{
		PickupLocationId: &pickup, VehicleType: "car", Payment: value,
		Recipient: &oapi.InlineRecipient{PhoneNumber: "0241234567",
			Address: oapi.AddressRequest{Address: "7 Ring Road", Latitude: 5.6037, Longitude: -0.187}},
	})
	check(err == nil && made.JSON201 != nil, "create: %v", err)
	return made.JSON201.Data
}

func name() string { return fmt.Sprint("generators-", time.Now().UnixNano()) }

func check(ok bool, format string, args ...any) {
	if !ok {
		log.Fatalf("oapi-codegen: "+format, args...)
	}
}
