package domain

// Coordinates are degrees on WGS 84.
type Coordinates struct {
	Latitude  float64 // at most MaxLatitude from 0
	Longitude float64 // at most MaxLongitude from 0
}

// VehicleType is the vehicle of a delivery. It decides price and range.
type VehicleType string

// The vehicles.
const (
	Bike  VehicleType = "bike"
	Car   VehicleType = "car"
	Van   VehicleType = "van"
	Truck VehicleType = "truck" // never priced automatically
)

// VehicleTypes lists every vehicle, smallest first.
func VehicleTypes() []VehicleType { return []VehicleType{Bike, Car, Van, Truck} }
