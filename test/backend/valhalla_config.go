package backend

import "encoding/json"

// object is a JSON object.
type object = map[string]any

// configuration is what the engine needs to be told, as its own defaults have
// it; a limit that it does not find is an error of each question.
func valhallaConfiguration(tiles string) ([]byte, error) {
	limits := object{
		"max_distance": 500000, "max_locations": 20, "max_matrix_distance": 400000, "max_matrix_location_pairs": 2500,
		"min_transit_walking_distance": 1, "max_transit_walking_distance": 10000,
	}
	services := object{
		"isochrone": object{"max_contours": 4, "max_distance": 25000, "max_distance_contour": 200, "max_locations": 1,
			"max_time_contour": 120},
		"trace": object{"max_alternates": 3, "max_alternates_shape": 100, "max_distance": 200000, "max_gps_accuracy": 100,
			"max_search_radius": 100, "max_shape": 16000},
		"skadi":                 object{"max_shape": 750000, "min_resample": 10},
		"centroid":              object{"max_distance": 200000, "max_locations": 5},
		"status":                object{"allow_verbose": false},
		"max_alternates":        2,
		"max_exclude_locations": 50, "max_exclude_polygons_length": 10000,
		"max_radius": 200, "max_reachability": 100,
		"max_timedep_distance": 500000, "max_timedep_distance_matrix": 0,
		"max_distance_disable_hierarchy_culling": 0, "allow_hard_exclusions": false,
		"hierarchy_limits": object{"allow_modification": false},
	}
	for _, costing := range []string{
		"auto", "bicycle", "bikeshare", "bus", "motor_scooter", "motorcycle", "multimodal", "pedestrian", "taxi", "transit", "truck",
	} {
		services[costing] = limits
	}
	quiet := object{"type": ""}
	return json.Marshal(object{
		"mjolnir": object{
			"tile_dir": tiles, "hierarchy": true, "shortcuts": true, "id_table_size": 1000, "logging": quiet,
			"include_bicycle": true, "include_driving": true, "include_pedestrian": true,
			"data_processing": object{"use_admin_db": false},
		},
		"loki": object{
			"actions": []string{"locate", "route", "sources_to_targets", "status"}, "use_connectivity": true, "logging": quiet,
			"service_defaults": object{
				"heading_tolerance": 60, "minimum_reachability": 50, "node_snap_tolerance": 5, "radius": 0,
				"search_cutoff": 35000, "street_side_max_distance": 1000, "street_side_tolerance": 5,
			},
		},
		"thor": object{"logging": quiet, "source_to_target_algorithm": "select_optimal"},
		"odin": object{"logging": quiet},
		"meili": object{
			"logging": quiet, "mode": "auto", "customizable": []string{}, "grid": object{"cache_size": 100, "size": 500},
			"default": object{
				"beta": 3, "breakage_distance": 2000, "geometry": false, "gps_accuracy": 5, "interpolation_distance": 10,
				"max_route_distance_factor": 5, "max_route_time_factor": 5, "max_search_radius": 100, "route": true,
				"search_radius": 50, "sigma_z": 4.07, "turn_penalty_factor": 0,
			},
		},
		"service_limits": services,
	})
}
