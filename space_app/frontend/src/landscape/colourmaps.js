// Colour maps: tables of 256 colours, made from anchors or by a formula. Pure.

/**
 * Every fifth colour of the published tables, as hex; lines between them differ from the tables by at most 4 of 255.
 *
 * viridis, magma, inferno and plasma: N. J. Smith, S. van der Walt and E. Firing, 2015, in the public domain (CC0).
 * cividis: J. R. Nunez, C. R. Anderton and R. S. Renslow, "Optimizing colormaps with consideration for color vision
 * deficiency", PLoS ONE 13(7), 2018.
 */
const ANCHORS = {
  viridis:
    "44015446085c471063481769481d6f482475472a7a46307e453781433d844142873f48893d4e8a3a538b38598c355e8d33638d31" +
    "688e2e6d8e2c718e2a768e297b8e27808e25848e23898e218e8d20928c1f978b1e9c891fa18821a58524aa8328ae802eb37c35b7" +
    "793dbc7446c06f50c46a5ac86465cb5e70cf577cd25089d54895d840a2da37b0dd2fbddf26cae11fd8e219e5e419f1e51dfde725",
  magma:
    "00000402020b0504160907200e0b2b140e361a104221114e29115a311165390f6e420f754a107952137c5a167e6219806a1c8172" +
    "1f81792282812581892881912b81992d80a1307eaa337db2357bba3878c23b75ca3e72d2426fd9466be04c67e75263ec5860f160" +
    "5df4695cf7725cf97b5dfb8560fc8e64fd9869fea16efeaa74feb47bfebd82fec68afecf92fed89afde2a3fdebacfcf4b6fcfdbf",
  inferno:
    "00000402020c0504170a072210092d160b391e0c45260c512f0a5b380962400a67490b6a510e6c59106e61136e69166e71196e78" +
    "1c6d801f6c88226a902568982766a02a63a82e5fb0315bb73557bf3952c63d4dcc4248d34743d94d3ddf5337e45a31e9612bed69" +
    "25f1711ff47918f78212f98b0bfa9407fb9d07fca60cfcb014fbba1ffac42af8cd37f6d746f4e156f2ea69f2f27df5f992fcffa4",
  plasma:
    "0d08871b068d2605912f059638049a41049d4903a05102a35901a56100a76900a87100a87801a88004a88707a68e0ca49511a19c" +
    "179ea21d9aa82296ae2892b42e8dba3388bf3984c43e7fc9447acd4a76d24f71d6556dda5b69de6164e26660e66c5ce97257ed79" +
    "53f07f4ff3854bf58c46f79342f99a3efba139fca835fdaf31feb72dfebe2afdc627fcce25fbd724f8df25f6e826f3f027f0f921",
  cividis:
    "00224e002656002a5f002d68003070083370163770203a6f273e6e2e416d34456c3a486c3f4c6c444f6c49536c4e566c535a6d57" +
    "5d6d5c616e60646f656870696b716d6f727272747676767a7a787e7d788381798885788d8878928c789690779b9476a09875a59c" +
    "74aaa073afa471b5a86fbaac6dbfb06bc4b468c9b965cfbd62d4c15fdac65bdfca57e5cf52ead34cf0d846f6dd3ffce236fee838",
};

/** What a reader may choose; the first is the one that is shown before. */
export const MAPS = ["viridis", "magma", "inferno", "plasma", "cividis", "coolwarm", "grey"];

const SIZE = 256;
const known = new Map();

/** @returns {Uint8Array} 256 colours, three bytes each; those of viridis for an unknown name. */
export function table(name) {
  const wanted = MAPS.includes(name) ? name : MAPS[0];
  if (!known.has(wanted)) known.set(wanted, wanted === "coolwarm" ? diverging([59, 76, 192], [180, 4, 38]) : wanted === "grey" ? greys() : between(ANCHORS[wanted]));
  return known.get(wanted);
}

/** Index of the colour of a share between 0 and 1; shares beyond have the colour of the end. */
export const slot = (share) => (share <= 0 ? 0 : share >= 1 ? SIZE - 1 : Math.floor(share * SIZE));

/** @returns {[number, number, number]} red, green and blue of a share. */
export function colourAt(colours, share) {
  const at = slot(share) * 3;
  return [colours[at], colours[at + 1], colours[at + 2]];
}

export const css = ([r, g, b]) => `rgb(${r},${g},${b})`;

function between(hex) {
  const anchors = hex.match(/../g).map((pair) => parseInt(pair, 16));
  const last = anchors.length / 3 - 1;
  return Uint8Array.from({ length: SIZE * 3 }, (_, i) => {
    const at = (Math.floor(i / 3) / (SIZE - 1)) * last;
    const from = Math.min(last - 1, Math.floor(at));
    const [a, b] = [anchors[from * 3 + (i % 3)], anchors[from * 3 + 3 + (i % 3)]];
    return Math.round(a + (b - a) * (at - from));
  });
}

/** Steps that look equally large: lightness rises evenly. */
function greys() {
  return Uint8Array.from({ length: SIZE * 3 }, (_, i) => {
    const y = fromLightness(6 + (90 * Math.floor(i / 3)) / (SIZE - 1));
    return Math.round(255 * encoded(y));
  });
}

/**
 * Two hues that meet in an unsaturated middle, by the formula of K. Moreland, "Diverging color maps for scientific
 * visualization", 2009: even steps in Msh, the polar form of CIELAB.
 */
function diverging(low, high) {
  const [from, to] = [mshOf(low), mshOf(high)];
  const middle = Math.max(from[0], to[0], 88);
  const colours = new Uint8Array(SIZE * 3);
  for (let i = 0; i < SIZE; i++) {
    const share = i / (SIZE - 1);
    const [end, part] = share < 0.5 ? [from, share * 2] : [to, 2 - share * 2];
    const neutral = [middle, 0, hueAtMiddle(end, middle)];
    colours.set(rgbOf(end.map((value, k) => value + (neutral[k] - value) * part)), i * 3);
  }
  return colours;
}

/** The hue with which a colour best meets the middle, which is lighter than it. */
function hueAtMiddle([m, s, h], middle) {
  if (m >= middle) return h;
  const spin = (s * Math.sqrt(middle ** 2 - m ** 2)) / (m * Math.sin(s));
  return h > -Math.PI / 3 ? h + spin : h - spin;
}

const WHITE = [0.95047, 1, 1.08883];
const decoded = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const encoded = (value) => (value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055);
const fromLightness = (l) => (l > 8 ? ((l + 16) / 116) ** 3 : l / 903.3);

/** CIELAB of a colour of the screen; lightness goes from 0 to 100. */
export function labOf(rgb) {
  const [r, g, b] = Array.from(rgb, (value) => decoded(value / 255));
  const xyz = [0.4124564 * r + 0.3575761 * g + 0.1804375 * b, 0.2126729 * r + 0.7151522 * g + 0.072175 * b, 0.0193339 * r + 0.119192 * g + 0.9503041 * b];
  const [x, y, z] = xyz.map((value, i) => value / WHITE[i]).map((value) => (value > 0.008856 ? Math.cbrt(value) : (903.3 * value + 16) / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function mshOf(rgb) {
  const [l, a, b] = labOf(rgb);
  const m = Math.hypot(l, a, b);
  return [m, Math.acos(l / m), Math.atan2(b, a)];
}

function rgbOf([m, s, h]) {
  const [l, a, b] = [m * Math.cos(s), m * Math.sin(s) * Math.cos(h), m * Math.sin(s) * Math.sin(h)];
  const y = (l + 16) / 116;
  const back = (value) => (value ** 3 > 0.008856 ? value ** 3 : (116 * value - 16) / 903.3);
  const [X, Y, Z] = [back(y + a / 500) * WHITE[0], fromLightness(l), back(y - b / 200) * WHITE[2]];
  const linear = [3.2404542 * X - 1.5371385 * Y - 0.4985314 * Z, -0.969266 * X + 1.8760108 * Y + 0.041556 * Z, 0.0556434 * X - 0.2040259 * Y + 1.0572252 * Z];
  return linear.map((value) => Math.round(255 * encoded(Math.min(1, Math.max(0, value)))));
}

/** How light a colour is for the eye, from 0 to 1 (WCAG's relative luminance). */
export const luminance = (rgb) => {
  const [r, g, b] = Array.from(rgb, (value) => decoded(value / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

/** A colour that can be seen on a background: moved towards the text's colour until it can. */
export function readable(rgb, back, text, least = 2.2) {
  for (let share = 0; share < 1; share += 0.1) {
    const mixed = rgb.map((value, i) => Math.round(value + (text[i] - value) * share));
    if (contrast(luminance(mixed), luminance(back)) >= least) return mixed;
  }
  return text;
}
