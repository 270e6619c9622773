package deploytest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// AnyRow generates a row with random values in all stored fields except the lane.
func AnyRow(r *rand.Rand) state.Row {
	row := state.Row{ID: resource.ID(anyText(r)), Rev: r.Int64()}
	for _, record := range []any{&row.Intent, &row.Outcome} {
		of := reflect.ValueOf(record).Elem()
		for i := range of.NumField() {
			if of.Type().Field(i).Name != "Lane" {
				fill(r, of.Field(i))
			}
		}
	}
	return row
}

// fill sets v to a random value: often the zero value, and texts that a stored form may confuse
// with other data.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		if r.IntN(3) > 0 {
			v.Set(reflect.ValueOf(time.Unix(0, r.Int64()-r.Int64()).UTC()))
		}
		return
	case []byte:
		v.SetBytes([]byte(anyText(r)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(anyText(r))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int:
		v.SetInt(int64(r.IntN(1000)))
	case reflect.Int64:
		v.SetInt(r.Int64() - r.Int64())
	case reflect.Slice:
		for range r.IntN(3) {
			e := reflect.New(v.Type().Elem()).Elem()
			fill(r, e)
			v.Set(reflect.Append(v, e))
		}
	default:
		panic(fmt.Sprintf("no value of %s is known; teach fill to make one", v.Type()))
	}
}

func anyText(r *rand.Rand) string {
	return []string{"", "a", "0abc", "00ff", "0FF0", "deployed", string([]byte{0xff, 0}),
		"ünï"}[r.IntN(8)]
}
