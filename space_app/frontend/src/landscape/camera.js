// Where the surface is looked at from: an orbit around its middle. Pure.

/**
 * @typedef {object} Camera
 * @property {number} azimuth degrees; -90 looks along y, with x to the right.
 * @property {number} elevation degrees above the plane.
 * @property {number} zoom
 * @property {number} panX shares of the picture's size.
 * @property {number} panY
 */

export const START = Object.freeze({ azimuth: -58, elevation: 30, zoom: 1, panX: 0, panY: 0 });

/** Views that buttons offer. */
export const VIEWPOINTS = { front: { azimuth: -90, elevation: 0 }, side: { azimuth: 0, elevation: 0 }, top: { azimuth: -90, elevation: 90 } };

const [LEAST_ZOOM, MOST_ZOOM] = [0.3, 12];
/** Distance of the eye from the middle; half the height of the picture at that distance. */
const DISTANCE = 5.2;
const HALF_HEIGHT = 1.42;

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const round = (value) => Math.round(value * 1000) / 1000;

export const pack = ({ azimuth, elevation, zoom, panX, panY }) => [azimuth, elevation, zoom, panX, panY].map(round);

/** @param {number[] | null} packed as a link has it. */
export function unpack(packed) {
  if (!packed) return { ...START };
  const [azimuth, elevation, zoom, panX, panY] = packed;
  return { azimuth, elevation: clamp(elevation, -90, 90), zoom: clamp(zoom, LEAST_ZOOM, MOST_ZOOM), panX: clamp(panX, -2, 2), panY: clamp(panY, -2, 2) };
}

/** After a turn by some degrees; the azimuth stays between -180 and 180. */
export const turned = (camera, dAzimuth, dElevation) => ({
  ...camera, azimuth: ((((camera.azimuth + dAzimuth + 180) % 360) + 360) % 360) - 180, elevation: clamp(camera.elevation + dElevation, -90, 90),
});

export const zoomed = (camera, factor) => ({ ...camera, zoom: clamp(camera.zoom * factor, LEAST_ZOOM, MOST_ZOOM) });

export const panned = (camera, dx, dy) => ({ ...camera, panX: clamp(camera.panX + dx, -2, 2), panY: clamp(camera.panY + dy, -2, 2) });

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/**
 * The camera in a picture: projects points of space, and gives the ray behind a pixel.
 * @param {Camera} camera
 * @param {{left: number, top: number, width: number, height: number}} area of the picture, in CSS pixels.
 */
export function lens(camera, area) {
  const [a, e] = [(camera.azimuth * Math.PI) / 180, (camera.elevation * Math.PI) / 180];
  const back = [Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)];
  const right = [-Math.sin(a), Math.cos(a), 0];
  const up = [-Math.sin(e) * Math.cos(a), -Math.sin(e) * Math.sin(a), Math.cos(e)];
  const eye = back.map((value) => value * DISTANCE);
  // The box and its labels fit where the picture is narrow as well as where it is low.
  const labels = Math.min(54, Math.max(30, area.width * 0.09));
  const size = Math.max(40, Math.min(area.height - labels, (area.width - 2 * labels) / 1.13));
  const focal = ((size / 2) * DISTANCE * camera.zoom) / HALF_HEIGHT;
  const middle = [area.left + area.width / 2 + camera.panX * size, area.top + area.height / 2 - 6 + camera.panY * size];
  return {
    camera, area, eye, back, right, up, focal, middle,
    project(point) {
      const way = [point[0] - eye[0], point[1] - eye[1], point[2] - eye[2]];
      const depth = -dot(way, back);
      return { px: middle[0] + (dot(way, right) / depth) * focal, py: middle[1] - (dot(way, up) / depth) * focal, depth };
    },
    ray(px, py) {
      const [u, v] = [(px - middle[0]) / focal, (middle[1] - py) / focal];
      return { from: eye, way: right.map((value, i) => value * u + up[i] * v - back[i]) };
    },
  };
}
