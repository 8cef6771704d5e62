package deliveries_test

import (
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/ports/mocks"
	"waybill/test/stage"
)

func TestASearchThatSaysNotSinceWhenLooksBackSevenDays(t *testing.T) {
	t.Parallel()
	week := 7 * 24 * time.Hour
	month := stage.Noon.Add(-30 * 24 * time.Hour)
	for name, c := range map[string]struct {
		search domain.DeliverySearch
		since  *time.Time
	}{
		"of all":                      {domain.DeliverySearch{}, new(stage.Noon.Add(-week))},
		"of a status":                 {domain.DeliverySearch{Status: domain.Booked}, new(stage.Noon.Add(-week))},
		"of a business":               {domain.DeliverySearch{BusinessID: "biz_1"}, new(stage.Noon.Add(-week))},
		"until a month ago":           {domain.DeliverySearch{CreatedBefore: &month}, new(month.Add(-week))},
		"until a time that will come": {domain.DeliverySearch{CreatedBefore: new(stage.Noon.Add(week))}, new(stage.Noon.Add(-week))},
		"since a month ago":           {domain.DeliverySearch{CreatedAfter: &month}, &month},
		"of an ID":                    {domain.DeliverySearch{ID: "dlv_1"}, nil},
		"of a reference":              {domain.DeliverySearch{Reference: "0000-0000-0000"}, nil},
		"of an external_id":           {domain.DeliverySearch{ExternalID: "order-1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctrl := gomock.NewController(t)
			storage, reader, clock := mocks.NewMockStorage(ctrl), mocks.NewMockPlatformReader(ctrl), mocks.NewMockClock(ctrl)
			storage.EXPECT().Read().Return(ports.Readers{Platform: reader}).AnyTimes()
			clock.EXPECT().Now().Return(stage.Noon).AnyTimes()
			asked, page := c.search, domain.PageRequest{Limit: 3}
			asked.CreatedAfter = c.since
			reader.EXPECT().Deliveries(gomock.Any(), gomock.Eq(asked), page).Return([]*domain.Delivery{{}}, errBroken)
			found, err := deliveries.NewOperations(storage, clock, mocks.NewMockIdentifiers(ctrl), stage.Renderer{}).Search(t.Context(), c.search, page)
			if !errors.Is(err, errBroken) || len(found.Deliveries) != 1 || (found.Since == nil) != (c.since == nil) || c.since != nil &&
				!found.Since.Equal(*c.since) {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
}
