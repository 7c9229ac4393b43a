package router

import "math"

// Transform turns values (score × match) into weights. The zero value is Plain.
type Transform struct {
	name  string
	floor float64
	power float64
}

// DefaultFloor is what Excess subtracts.
const DefaultFloor = 0.65

// Plain takes the values as weights.
func Plain() Transform { return Transform{name: "plain"} }

// Excess takes what exceeds floor (0: DefaultFloor), and the values themselves
// when none does. 0.92, 0.85 and 0.78 over 0.65 share 45, 33 and 22 %.
func Excess(floor float64) Transform {
	if floor <= 0 {
		floor = DefaultFloor
	}
	return Transform{name: "excess", floor: floor}
}

// Power raises the values to the power p (0: 2). Above 2, old load information
// makes everybody run to the same server.
func Power(p float64) Transform {
	if p <= 0 {
		p = 2
	}
	return Transform{name: "power", power: p}
}

// String is the name a decision records.
func (t Transform) String() string {
	if t.name == "" {
		return "plain"
	}
	return t.name
}

// apply changes values to weights in place.
func (t Transform) apply(values []float64) {
	switch t.name {
	case "excess":
		exceeded := false
		for _, v := range values {
			exceeded = exceeded || v > t.floor
		}
		if !exceeded {
			return
		}
		for i, v := range values {
			values[i] = max(v-t.floor, 0)
		}
	case "power":
		for i, v := range values {
			values[i] = math.Pow(v, t.power)
		}
	}
}
