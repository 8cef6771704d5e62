// Draws the street map: the tiles of the operator, and over them the open deliveries. The
// library is loaded here, and so on this page alone.
(async () => {
  "use strict";
  const frame = document.getElementById("street-frame"), box = document.getElementById("street"), status = document.getElementById("street-status"), told = box.dataset;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const absolute = (path) => new URL(path, location.href).href;
  const hour = 3600e3, closest = 18, font = ["sans-serif"];

  // Tiles differ in how they name their layers: those of Protomaps and of OpenMapTiles are
  // known here. What has another name is left out.
  const fills = { earth: "land", landcover: "green", landuse: "green", park: "green", water: "water", buildings: "building", building: "building" };
  const roads = ["roads", "transportation"], borders = ["boundaries", "boundary"];
  const roadNames = ["roads", "transportation_name"], places = ["places", "place"];
  const kind = ["coalesce", ["get", "kind"], ["get", "class"], ""];
  const green = ["match", kind, ["park", "national_park", "nature_reserve", "protected_area", "garden", "golf_course", "recreation_ground", "playground", "pitch",
    "village_green", "cemetery", "allotments", "orchard", "forest", "wood", "scrub", "grass", "grassland", "meadow", "farmland", "wetland"], true, false];
  const rails = ["rail", "transit"], offRoad = [...rails, "ferry", "aerialway", "pier", "runway", "taxiway"];
  const highways = ["highway", "motorway", "trunk"], majors = ["major_road", "primary", "secondary"];
  const wide = (rim) => ["interpolate", ["exponential", 1.6], ["zoom"],
    6, ["match", kind, highways, 1.5 + rim, majors, 1 + rim, 0.4 + rim],
    18, ["match", kind, [...highways, ...majors], 19 + rim, ["path", "track"], 2 + rim, 10 + rim]];
  const area = ["==", ["geometry-type"], "Polygon"], line = ["==", ["geometry-type"], "LineString"];

  const style = (points, outline) => {
    const there = new Set(told.layers.split(" "));
    const of = (id, name, rest) => ({ id, source: "tiles", "source-layer": name, ...rest });
    const text = { "text-color": colour("street-text"), "text-halo-color": colour("street-halo"), "text-halo-width": 1.5 };
    const named = ["coalesce", ["get", "name:en"], ["get", "name"], ""];
    const layers = [{ id: "ground", type: "background", paint: { "background-color": colour(there.has("earth") ? "street-ground" : "street-land") } }];
    for (const [name, look] of Object.entries(fills)) {
      const filter = name === "landcover" || name === "landuse" ? ["all", area, green] : area;
      if (there.has(name)) layers.push(of(name, name, { type: "fill", filter, paint: { "fill-color": colour("street-" + look) } }));
    }
    if (there.has("waterway")) layers.push(of("waterway", "waterway", { type: "line", filter: line, paint: { "line-color": colour("street-water") } }));
    for (const name of roads.filter((n) => there.has(n))) {
      const layout = { "line-cap": "round", "line-join": "round", "line-sort-key": ["match", kind, highways, 2, majors, 1, 0] };
      const filter = ["all", line, ["!", ["in", kind, ["literal", offRoad]]]], by = ["match", kind, highways, colour("street-highway"), majors, colour("street-major"), colour("street-road")];
      layers.push(of(name + "-rails", name, { type: "line", minzoom: 10, filter: ["all", line, ["in", kind, ["literal", rails]]], paint: { "line-color": colour("street-border"), "line-dasharray": [4, 2] } }));
      layers.push(of(name + "-edge", name, { type: "line", filter, minzoom: 11, layout, paint: { "line-color": colour("street-path"), "line-width": wide(1.8) } }));
      layers.push(of(name, name, { type: "line", filter, layout, paint: { "line-color": by, "line-width": wide(0) } }));
    }
    for (const name of borders.filter((n) => there.has(n))) {
      layers.push(of(name, name, { type: "line", filter: line, paint: { "line-color": colour("street-border"), "line-dasharray": [3, 2] } }));
    }
    for (const name of roadNames.filter((n) => there.has(n))) {
      layers.push(of(name + "-names", name, { type: "symbol", minzoom: 13, filter: line, paint: text,
        layout: { "symbol-placement": "line", "text-field": named, "text-font": font, "text-size": 12 } }));
    }
    for (const name of places.filter((n) => there.has(n))) {
      layers.push(of(name + "-names", name, { type: "symbol", paint: text, layout: { "text-field": named, "text-font": font, "text-max-width": 8,
        "symbol-sort-key": ["coalesce", ["get", "rank"], ["-", ["coalesce", ["get", "population_rank"], 0]]],
        "text-size": ["match", kind, ["country", "region", "state", "locality", "city", "town"], 15, 12] } }));
    }
    const mark = ["match", ["get", "status"]];
    for (const swatch of document.querySelectorAll(".legend [data-status]")) mark.push(swatch.dataset.status, getComputedStyle(swatch).backgroundColor);
    mark.push(colour("quiet"));
    const rim = { "circle-stroke-width": ["case", ["==", ["get", "late"], 1], 3, 1.5], "circle-stroke-color": ["case", ["==", ["get", "late"], 1], colour("bad"), colour("card")] };
    const single = ["!", ["has", "point_count"]], many = ["has", "point_count"], open = { source: "open" };
    const label = { "text-font": font, "text-size": 12, "text-allow-overlap": true, "text-ignore-placement": true };
    layers.push(
      { id: "area", type: "line", source: "outline", paint: { "line-color": colour("edge"), "line-width": 2, "line-dasharray": [3, 2] } },
      { id: "clusters", type: "circle", ...open, filter: many, paint: { "circle-color": colour("brand"), "circle-radius": ["step", ["get", "point_count"], 16, 10, 20, 100, 26, 1000, 32], ...rim } },
      { id: "counts", type: "symbol", ...open, filter: many, layout: { ...label, "text-field": ["get", "point_count_abbreviated"] }, paint: { "text-color": colour("on-brand") } },
      { id: "deliveries", type: "circle", ...open, filter: single, paint: { "circle-color": mark, "circle-radius": 12, ...rim } },
      { id: "letters", type: "symbol", ...open, filter: single, layout: { ...label, "text-field": ["get", "letter"] }, paint: { "text-color": colour("card") } });
    const collection = (features) => ({ type: "FeatureCollection", features });
    return { version: 8, layers, sources: {
      tiles: { type: "vector", tiles: [absolute(told.tiles).replaceAll("%7B", "{").replaceAll("%7D", "}")], minzoom: Number(told.minZoom), maxzoom: Number(told.maxZoom) },
      outline: { type: "geojson", data: collection(outline) },
      open: { type: "geojson", data: collection(points), cluster: true, clusterRadius: 44, clusterMaxZoom: closest, maxzoom: closest + 1, clusterProperties: { late: ["max", ["get", "late"]] } },
    } };
  };

  const link = (p) => {
    const a = document.createElement("a"), item = document.createElement("li");
    a.href = p.href;
    a.textContent = p.reference + ", " + p.status.replaceAll("_", " ");
    item.append(a);
    return item;
  };

  try {
    if (!document.createElement("canvas").getContext("webgl2")) throw new Error("it has no WebGL 2, or it is switched off");
    const [library, answer] = await Promise.all([import(absolute(told.library)), fetch(told.points)]);
    if (!answer.ok) throw new Error("the server answers " + answer.status);
    const all = (await answer.json()).features, now = Date.now();
    const points = all.filter((f) => f.properties.kind === "delivery"), outline = all.filter((f) => f.properties.kind !== "delivery");
    for (const { properties: p } of points) {
      p.late = now - Date.parse(p.since) > hour ? 1 : 0;
      p.letter = p.status[0].toUpperCase();
    }
    const bounds = new library.LngLatBounds();
    for (const f of points) bounds.extend(f.geometry.coordinates);
    if (bounds.isEmpty()) bounds.extend([Number(told.west), Number(told.south)]).extend([Number(told.east), Number(told.north)]);
    library.setWorkerUrl(absolute(told.worker));
    const map = new library.Map({ container: box, style: style(points, outline), bounds, fitBoundsOptions: { padding: 50, maxZoom: 14 }, maxZoom: closest + 1,
      attributionControl: false, cooperativeGestures: true, fadeDuration: 0, dragRotate: false, pitchWithRotate: false, renderWorldCopies: false });
    box.map = map; // for a look at it from the console of a browser
    map.touchZoomRotate.disableRotation();
    map.addControl(new library.NavigationControl({ showCompass: false }));
    map.on("error", (e) => { status.textContent = "Parts of the map could not be loaded (" + e.error.message + "). Reload the page to try again."; });
    map.on("webglcontextlost", () => frame.classList.remove("drawn"));
    map.on("webglcontextrestored", () => frame.classList.add("drawn"));
    map.on("click", "deliveries", (e) => { location.href = e.features[0].properties.href; });
    map.on("click", "clusters", async (e) => {
      const [f] = e.features, source = map.getSource("open"), zoom = await source.getClusterExpansionZoom(f.properties.cluster_id);
      if (zoom <= closest) {
        map.jumpTo({ center: f.geometry.coordinates, zoom });
        return;
      }
      const list = document.createElement("ul"); // all at one place
      for (const one of await source.getClusterLeaves(f.properties.cluster_id, 50, 0)) list.append(link(one.properties));
      new library.Popup().setLngLat(f.geometry.coordinates).setDOMContent(list).addTo(map);
    });
    for (const layer of ["deliveries", "clusters"]) {
      map.on("mousemove", layer, (e) => {
        const p = e.features[0].properties;
        map.getCanvas().style.cursor = "pointer";
        map.getCanvas().title = p.reference ? p.reference + ", " + p.status.replaceAll("_", " ") : p.point_count + " deliveries";
      });
      map.on("mouseleave", layer, () => { map.getCanvas().style.cursor = map.getCanvas().title = ""; });
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => map.setStyle(style(points, outline)));
    map.once("load", () => frame.classList.add("drawn"));
    map.once("idle", () => { told.drawn = "yes"; });
  } catch (e) {
    box.replaceChildren();
    frame.classList.add("failed");
    status.textContent = "This browser cannot draw the streets (" + e.message + "). The map shows marks alone.";
  }
})();
